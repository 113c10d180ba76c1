// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/analysis/compare/paired_metric.hpp"
#include "harness/analysis/compare/rounds/sequential_comparison.hpp"

namespace plumb::analysis {

/// On which side of a change a candidate is, as far as its pairs tell.
enum class ChangeSide { kBefore, kAfter, kOpen };

/// Sequential rule that tells on which side of a known change a candidate is.
///
/// The change is a ratio above 1. A candidate before it has a ratio near 1 to the good end, one
/// after it a ratio near the change. The rule decides once the interval of the mean lies on one
/// side of the change's square root, which is their middle in logarithms. The interval is widened
/// for the looks, which share kSideTail at each end. Decisions are final. Pure.
class SideRule {
 public:
  explicit SideRule(std::vector<std::size_t> looks);

  /// Judges the pairs of a candidate, the good end as their baseline.
  [[nodiscard]] ChangeSide judge(const PairedSamples& pairs, double change) const;

 private:
  std::vector<std::size_t> looks_;
  std::vector<double> tails_;  ///< at each look
};

/// Fills in times, ratio and interval of a change from all pairs. Returns whether they pin it down:
/// the interval reaches at most a quarter of the change to either side, so that its middle is a
/// sound limit for SideRule.
[[nodiscard]] bool estimate_change(const PairedSamples& pairs, MetricComparison& metric);

/// Probability of an interval's end on the wrong side, over all looks. A candidate that really is
/// at an end of the change is misjudged far more rarely, since the limit is half a change away.
inline constexpr double kSideTail = 0.01;

/// A candidate that is undecided after the usual pairs gets up to so many times as many: a build
/// costs more than pairs do.
inline constexpr std::size_t kLongerPairs = 4;

/// Returns the design for `pairs` pairs a candidate, and kLongerPairs times as many if they decide
/// nothing.
[[nodiscard]] SequentialDesign search_design(std::size_t pairs);

}  // namespace plumb::analysis
