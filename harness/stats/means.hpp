// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumb::stats {

/// Trimmed mean with the variance and degrees of freedom that a t test needs.
struct TrimmedMean {
  double mean = 0.0;
  /// Variance of one value, as the trimmed mean sees it. It is the square of Yuen's standard error
  /// times the number of values kept.
  double variance = 0.0;
  double kept = 0.0;     ///< values
  double freedom = 0.0;  ///< degrees, kept − 1
  double share = 1.0;    ///< kept, of all values
};

/// Returns the mean without the outer tenth of the values at each end. From five values on at least
/// one is cut at each end. The variance comes from the winsorized values (Yuen, Biometrika 61,
/// 1974). Needs two values. Pure.
[[nodiscard]] TrimmedMean trimmed_mean(std::vector<double> values);

/// Common distribution of many variances, as an inverse-gamma prior.
struct VariancePrior {
  double variance = 0.0;  ///< of one value, whatever share was kept
  double freedom = 0.0;   ///< degrees; infinite: all variances are one; zero: nothing in common
};

/// Fits the prior to sample variances and their degrees of freedom by the moments of their
/// logarithms. This is the method of Smyth (2004, §6.2). Samples with zero variance are ignored.
/// From fewer than three samples the prior is empty. Pure.
[[nodiscard]] VariancePrior variance_prior(std::span<const TrimmedMean> samples);

/// Returns the sample with its variance and degrees of freedom moderated by the prior (Smyth 2004,
/// §4).
[[nodiscard]] TrimmedMean moderated(TrimmedMean sample, const VariancePrior& prior);

/// Returns the p-values adjusted by Benjamini and Hochberg (q), in the order given.
[[nodiscard]] std::vector<double> false_discovery_q(std::span<const double> p_values);

/// Returns the two-sided p of Student's t. The degrees of freedom are positive and may be infinite.
[[nodiscard]] double two_sided_p(double t, double freedom);
/// Returns the quantile of Student's t, with degrees of freedom as in two_sided_p().
[[nodiscard]] double t_quantile(double probability, double freedom);

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
