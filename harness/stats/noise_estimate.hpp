// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace plumb::stats {

/// Returns the median of `scratch`, which is reordered and must not be empty.
[[nodiscard]] double compute_median(std::vector<double>& scratch);
[[nodiscard]] double compute_median(std::span<const double> values);

/// Returns the standard deviation of independent noise, from the median difference of neighbours.
/// Steps hardly change that median. Where most neighbours are equal, it is the mean of all but the
/// largest tenth of the differences, or else a hundredth of the range. Zero: all values are equal.
/// Needs two values.
[[nodiscard]] double estimate_noise(std::span<const double> values);

/// One series made comparable: shifted to its middle point, divided by its noise, outliers clipped.
struct ScaledSeries {
  std::vector<double> values;  ///< (ln value − centre) ÷ noise; without ln if one is not positive
  std::vector<double> clipped;  ///< the same without outliers
  bool logarithmic = false;
  double centre = 0.0;
  double noise = 0.0;
};

/// Scales a series. Absent: it is constant. A value beyond 2.5 deviations of the running median of
/// eleven points is an outlier, and is clipped to 2.5. Five or more such neighbours on the same
/// side are a level and stay. So does a value that agrees with the five points on one side of it.
[[nodiscard]] std::optional<ScaledSeries> scale_series(std::span<const double> values);

}  // namespace plumb::stats
