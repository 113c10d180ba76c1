// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/alpha_spending.hpp"
#include "harness/analyze/paired_metric.hpp"

namespace plumb {

/// Schedule of looks at a comparison that is still being measured.
struct SequentialDesign {
  std::vector<std::size_t> looks{6, 10, 15, 20};  ///< pairs; the first look screens
  double screen_level = 0.5;  ///< two-sided: what differs less never becomes a suspect
};
/// Makes a design that ends after so many pairs, at least kLeastDesign.
[[nodiscard]] SequentialDesign design_for(std::size_t pairs_at_most);
inline constexpr std::size_t kLeastDesign = 2 * kLeastPairs;

/// Pairs of one metric so far: first the pairs of the screening, then new ones.
struct StagedPairs {
  PairedSamples pairs;
  std::size_t screening = 0;  ///< of them, the first so many
  PracticalFloor floor = {};  ///< of this metric; the family's holds where it is larger
};

/// Criteria by which a family of metrics is judged.
struct FamilyLimits {
  std::string kind;        ///< "end_to_end" or "layer"
  double level = 0.01;     ///< of q, over the family
  double floor = 0.0;      ///< relative changes below it are none
  double margin = 0.01;    ///< equivalent: the interval lies within the larger of it and the floor
  bool moderated = false;  ///< variances borrow from each other (Smyth 2004)
};

/// Current result of one metric.
struct SequentialResult {
  MetricComparison metric;
  std::size_t decided_at = 0;  ///< pairs, at the look that decided; 0: none did
  bool open = false;           ///< more pairs may decide it
};

/// Judges families of metrics while they are measured. Pure.
///
/// The first look screens: a metric whose pairs differ at the screen's level is a suspect. A
/// suspect is confirmed on new pairs only, by a one-sided test in the direction it was suspected
/// of, at the later looks, which are paid for (AlphaSpending). The product of the screen's level
/// and that test's p-value is the p-value of the whole procedure; the family's are corrected after
/// Benjamini and Hochberg. So a confirmed change is told by data that did not raise the suspicion,
/// and a hypothesis that was never suspected costs no measurement.
///
/// At each look a metric whose interval, widened for the looks, lies within floor and margin is
/// equivalent. After the last look the rest is inconclusive. What is reported of a change comes
/// from the new pairs; of the rest, from all. Looks that have been decided never change again.
///
class SequentialRule {
 public:
  explicit SequentialRule(SequentialDesign design = {});

  /// Returns the current result of each metric. Call it again when there are more pairs.
  [[nodiscard]] std::vector<SequentialResult> judge(std::span<const StagedPairs> family,
                                                    const FamilyLimits& limits) const;
  [[nodiscard]] const std::vector<std::size_t>& looks() const { return design_.looks; }

 private:
  SequentialDesign design_;
  AlphaSpending confirming_;   ///< over the looks at new pairs
  std::vector<double> tails_;  ///< of the interval at each look at all pairs, each side
};

}  // namespace plumb
