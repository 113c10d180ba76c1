// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumb {

/// Trimmed mean with the variance and degrees of freedom that a t test needs.
struct TrimmedMean {
  double mean = 0.0;
  /// Square of Yuen's standard error times the number of values kept: the variance of one value,
  /// as the trimmed mean sees it.
  double variance = 0.0;
  double kept = 0.0;     ///< values
  double freedom = 0.0;  ///< degrees, kept − 1
  double share = 1.0;    ///< kept, of all values
};

/// Cuts a tenth of the values off at each end, at least one from five values on; the variance comes
/// from the winsorized values (Yuen, Biometrika 61, 1974). Needs two values. Pure.
[[nodiscard]] TrimmedMean trimmed_mean(std::vector<double> values);

/// Common distribution of many variances: an inverse-gamma prior.
struct VariancePrior {
  double variance = 0.0;  ///< of one value, whatever share was kept
  double freedom = 0.0;   ///< degrees; infinite: all variances are one; zero: nothing in common
};

/// Fits the prior to sample variances with their degrees of freedom by the moments of their
/// logarithms (Smyth 2004, §6.2). Zero variances and fewer than three say nothing. Pure.
[[nodiscard]] VariancePrior variance_prior(std::span<const TrimmedMean> samples);

/// Returns the sample with its variance and degrees of freedom moderated by the prior (Smyth 2004,
/// §4).
[[nodiscard]] TrimmedMean moderated(TrimmedMean sample, const VariancePrior& prior);

/// Returns the Benjamini-Hochberg adjusted p-values (q), in the order given.
[[nodiscard]] std::vector<double> false_discovery_q(std::span<const double> p_values);

}  // namespace plumb
