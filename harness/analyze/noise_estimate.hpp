// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace plumb {

/// Returns the median; reorders `scratch`, which must not be empty.
[[nodiscard]] double compute_median(std::vector<double>& scratch);
[[nodiscard]] double compute_median(std::span<const double> values);

/// Standard deviation of independent noise, by the median difference of neighbours, which steps
/// hardly touch. Where most neighbours are equal: the mean of all but the largest differences, then
/// a hundredth of the range. Zero: all values are equal. Needs two values.
[[nodiscard]] double estimate_noise(std::span<const double> values);

/// One series made comparable: shifted to its middle point, divided by its noise, outliers pulled
/// in.
struct ScaledSeries {
  std::vector<double> values;  ///< (ln value − centre) ÷ noise; without ln if one is not positive
  std::vector<double> clipped;  ///< the same without outliers
  bool logarithmic = false;
  double centre = 0.0;
  double noise = 0.0;
};

/// Scales a series; absent: constant. A value beyond 2.5 deviations of the running median (eleven
/// points) is an outlier and pulled in to there, unless five neighbours at least lie beyond it on
/// the same side: these are a level.
[[nodiscard]] std::optional<ScaledSeries> scale_series(std::span<const double> values);

}  // namespace plumb
