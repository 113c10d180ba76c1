// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumb {

/// Number of restarted processes at either level of a bistable series.
struct LevelCount {
  std::size_t low = 0;
  std::size_t high = 0;
};

/// The two levels of a bistable series, whose processes are fast or slow and seldom between.
struct TwoLevels {
  double low = 0.0;  ///< mean ln(time) of the processes at the level
  double high = 0.0;
  double between = 0.0;  ///< ln(time) that separates them
  LevelCount processes;

  [[nodiscard]] LevelCount count(std::span<const double> logs) const;
};

/// Finds two levels in the processes of runs of one series: ln(time), one vector a run.
///
/// Splits the values where the sum of squares within both parts is least (two-means, exact in one
/// dimension). Two levels need eight processes in all, two at each level, means that lie 10 % and
/// eight standard deviations within the parts apart (of normal samples of eight, one in several
/// hundred lies so far apart, at any distance), and both levels within a run: two runs that have
/// processes at either level, or one that has two. A step between runs is therefore no second
/// level.
[[nodiscard]] std::optional<TwoLevels> find_two_levels(std::span<const std::vector<double>> runs);

/// Returns the two-sided p of Fisher's exact test: do two sides' processes fall into the levels in
/// unlike shares?
[[nodiscard]] double shares_p(const LevelCount& baseline, const LevelCount& candidate);

}  // namespace plumb
