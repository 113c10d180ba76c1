// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace plumb::stats {

/// Geometric mean of positive values.
struct GeometricMean {
  double mean = 1.0;
  std::optional<double> low;  ///< 95% interval over the values; absent below two values
  std::optional<double> high;
  std::size_t n = 0;  ///< values
};

/// Returns the geometric mean of values that are all above zero. Absent: there is no value. Its
/// interval is Student's over the logarithms. It shows what another draw of such values might give.
/// Pure.
[[nodiscard]] std::optional<GeometricMean> geometric_mean(std::span<const double> values);

}  // namespace plumb::stats
