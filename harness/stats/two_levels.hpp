// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumb::stats {

/// The two levels of a bistable series, whose processes are fast or slow and rarely in between.
struct TwoLevels {
  /// Two levels between which a series jumps, as a hidden Markov model with one deviation.
  struct Jumps {
    double low = 0.0;
    double high = 0.0;
    std::vector<char> is_high;  ///< by point: the most likely states
    double score = 0.0;  ///< −2 log-likelihood plus penalties; comparable with score_levels
  };

  /// Numbers of restarted processes at the two levels of a bistable series.
  struct Count {
    std::size_t low = 0;
    std::size_t high = 0;
  };

  double low = 0.0;  ///< mean ln(time) of the processes at the level
  double high = 0.0;
  double between = 0.0;  ///< ln(time) that separates them
  Count processes;

  /// Counts the processes with these ln(time) at either level.
  [[nodiscard]] Count count(std::span<const double> logs) const;
};

/// Finds two levels in the processes of runs of one series. Each run is a vector of ln(time).
///
/// Splits the values where the sum of squares within both parts is least (two-means, exact in one
/// dimension). Two levels need all of these:
/// - eight processes in all, and two at each level
/// - means that are 10 % apart, and eight standard deviations within the parts
/// - two runs that have processes at both levels, or one run that has two at each
///
/// Of normal samples of eight, one in several hundred has means eight deviations apart, whatever
/// the 10 %. A step between runs is not a second level, because no run then has both.
[[nodiscard]] std::optional<TwoLevels> find_two_levels(std::span<const std::vector<double>> runs);

/// Returns the two-sided p of Fisher's exact test of two sides' processes at the levels. A small p
/// says that the sides' shares differ.
[[nodiscard]] double shares_p(const TwoLevels::Count& baseline, const TwoLevels::Count& candidate);

/// Fits two states to values around one level. Absent: the values have no two separate levels, or
/// stay in each so long that they are levels of a series with steps.
///
/// Levels are separate if they are more than four deviations apart and the rarer one has a tenth of
/// the points. The stays must look like noise: at least four stays of two points or more, and one
/// in fourteen points; or twelve levels of five points.
[[nodiscard]] std::optional<TwoLevels::Jumps> fit_two_states(std::span<const double> values);

/// Returns −2 log-likelihood of values around given levels, with autocorrelated noise of the first
/// order. Outliers are allowed for as in fit_two_states().
[[nodiscard]] double score_levels(std::span<const double> residuals,
                                  double correlation,
                                  double variance);

}  // namespace plumb::stats
