// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumb::stats {

/// Numbers of restarted processes at the two levels of a bistable series.
struct LevelCount {
  std::size_t low = 0;
  std::size_t high = 0;
};

/// The two levels of a bistable series, whose processes are fast or slow and rarely in between.
struct TwoLevels {
  double low = 0.0;  ///< mean ln(time) of the processes at the level
  double high = 0.0;
  double between = 0.0;  ///< ln(time) that separates them
  LevelCount processes;

  /// Counts the processes with these ln(time) at either level.
  [[nodiscard]] LevelCount count(std::span<const double> logs) const;
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
[[nodiscard]] double shares_p(const LevelCount& baseline, const LevelCount& candidate);

}  // namespace plumb::stats
