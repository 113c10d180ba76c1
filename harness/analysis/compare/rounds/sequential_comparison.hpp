// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/paired_metric.hpp"
#include "harness/stats/alpha_spending.hpp"

namespace plumb::analysis {

/// Schedule of looks at a comparison that is still being measured.
struct SequentialDesign {
  std::vector<std::size_t> looks{6, 10, 15, 20};  ///< pairs; the first look screens
  double screen_level = 0.5;  ///< two-sided: a metric that differs less is no suspect
};
/// Returns a design that ends after `pairs_at_most` pairs, at least kMinDesign.
[[nodiscard]] SequentialDesign design_for(std::size_t pairs_at_most);
inline constexpr std::size_t kMinDesign = 2 * kMinPairs;

/// Pairs of one metric so far: first those of the screening, then new ones.
struct StagedPairs {
  PairedSamples pairs;
  std::size_t screening = 0;  ///< number of pairs of the screening
  MinimumEffect floor = {};   ///< of this metric; the family's holds where it is larger
};

/// Criteria by which a family of metrics is judged.
struct FamilyLimits {
  MetricKind kind = MetricKind::kEndToEnd;  ///< or kLayer
  ChangeLimits change = {};                 ///< its level holds over the family
  bool moderated = false;                   ///< variances borrow from each other (Smyth 2004)
};

/// Current result of one metric.
struct SequentialResult {
  MetricComparison metric;
  std::size_t decided_at = 0;  ///< pairs, at the look that decided; 0: none did
  bool open = false;           ///< more pairs may decide it
};

/// Sequential rule that judges families of metrics while they are measured. Pure.
///
/// - The first look screens: a metric whose pairs differ at the screen's level is a suspect.
/// - A suspect is confirmed at the later looks, on new pairs only. The test is one-sided in the
///   direction of the suspicion. AlphaSpending accounts for the number of looks.
/// - The p-value of the whole procedure is the screen's level times that test's p-value. The
///   family's p-values are corrected after Benjamini and Hochberg.
/// - At each look, a metric is equivalent if its interval, widened for the looks, lies within the
///   larger of floor and margin.
/// - After the last look the rest is inconclusive.
///
/// The data that confirm a change did not raise the suspicion, so the choice of suspects does not
/// bias it. A metric that was never suspected cannot be called changed. A reported change comes
/// from the new pairs; other metrics use all pairs. Decisions are final.
class SequentialRule {
 public:
  explicit SequentialRule(SequentialDesign design = {});

  /// Returns the current result of each metric. Call it again when there are more pairs.
  [[nodiscard]] std::vector<SequentialResult> judge(std::span<const StagedPairs> family,
                                                    const FamilyLimits& limits) const;
  [[nodiscard]] const std::vector<std::size_t>& looks() const { return design_.looks; }

 private:
  SequentialDesign design_;
  stats::AlphaSpending confirming_;  ///< over the looks at new pairs
  std::vector<double> tails_;        ///< of the interval at each look at all pairs, each side
};

}  // namespace plumb::analysis
