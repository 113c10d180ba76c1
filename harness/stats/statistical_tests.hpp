// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumb::stats {

/// Trimmed mean with the variance and degrees of freedom that a t test needs.
struct TrimmedMean {
  /// Common distribution of many variances, as an inverse-gamma prior.
  struct Prior {
    double variance = 0.0;  ///< of one value, whatever share was kept
    double freedom = 0.0;   ///< degrees; infinite: all variances are one; zero: nothing in common
  };

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

/// Fits the prior to sample variances and their degrees of freedom by the moments of their
/// logarithms. This is the method of Smyth (2004, §6.2). Samples with zero variance are ignored.
/// From fewer than three samples the prior is empty. Pure.
[[nodiscard]] TrimmedMean::Prior variance_prior(std::span<const TrimmedMean> samples);

/// Returns the sample with its variance and degrees of freedom moderated by the prior (Smyth 2004,
/// §4).
[[nodiscard]] TrimmedMean moderated(TrimmedMean sample, const TrimmedMean::Prior& prior);

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

/// Returns for each look the p-value below which a one-sided test with repeated looks rejects.
/// `level` is the level of the test in all. `information` is the share of all data at each look:
/// ascending, the last one 1.
///
/// The false alarms are spent in proportion to the data (Lan and DeMets, Biometrika 70, 1983), with
/// the spending function α·t (Kim and DeMets, Biometrika 74, 1987). The recursion is that of
/// Armitage, McPherson and Rowe (JRSS A 132, 1969) for normal increments. The limits apply to
/// p-values, whatever the test (Jennison and Turnbull, Group Sequential Methods, 2000, §3.8 and
/// §19). Pure.
[[nodiscard]] std::vector<double> spending_limits(const std::vector<double>& information,
                                                  double level);

/// Overall p-values of a test that looks several times at growing data. Construction takes a tenth
/// of a second. Pure.
class AlphaSpending {
 public:
  /// Computes the limits of a grid of levels, for `information` as in spending_limits().
  explicit AlphaSpending(const std::vector<double>& information);

  /// Returns the least level at which a look with this p-value rejects. It is the p-value of the
  /// whole procedure, as far as this look goes. The least over all looks is valid at each of them.
  [[nodiscard]] double total_p(std::size_t look, double p) const;

 private:
  std::vector<double> levels_;               ///< ascending
  std::vector<std::vector<double>> limits_;  ///< by level, then look
};

}  // namespace plumb::stats
