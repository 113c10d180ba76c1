// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {

inline constexpr std::size_t kMinDesign = 2 * kMinPairs;

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
  /// Current result of one metric.
  struct Result {
    MetricComparison metric;
    std::size_t decided_at = 0;  ///< pairs, at the look that decided; 0: none did
    bool open = false;           ///< more pairs may decide it
  };

  /// Criteria by which a family of metrics is judged.
  struct Limits {
    MetricKind kind = MetricKind::kEndToEnd;  ///< or kLayer
    ComparisonLimits::Change change = {};     ///< its level holds over the family
    bool moderated = false;                   ///< variances borrow from each other (Smyth 2004)
  };

  /// Pairs of one metric so far: first those of the screening, then new ones.
  struct Pairs {
    PairedSamples pairs;
    std::size_t screening = 0;           ///< number of pairs of the screening
    MetricComparison::Floor floor = {};  ///< of this metric; the family's holds where it is larger
  };

  /// Schedule of looks at a comparison that is still being measured.
  struct Design {
    std::vector<std::size_t> looks{6, 10, 15, 20};  ///< pairs; the first look screens
    double screen_level = 0.5;  ///< two-sided: a metric that differs less is no suspect
  };

  SequentialRule() : SequentialRule(Design()) {}
  explicit SequentialRule(Design design);

  /// Returns the current result of each metric. Call it again when there are more pairs.
  [[nodiscard]] std::vector<Result> judge(std::span<const Pairs> family,
                                          const Limits& limits) const;
  [[nodiscard]] const std::vector<std::size_t>& looks() const { return design_.looks; }

 private:
  Design design_;
  stats::AlphaSpending confirming_;  ///< over the looks at new pairs
  std::vector<double> tails_;        ///< of the interval at each look at all pairs, each side
};

/// Returns a design that ends after `pairs_at_most` pairs, at least kMinDesign.
[[nodiscard]] SequentialRule::Design design_for(std::size_t pairs_at_most);

/// Answer to one question: the verdict of the whole, with its metrics.
struct PairedComparison {
  /// Samples for one question: did the model, or one of its layers, change?
  struct Question {
    std::string id;
    std::optional<PairedSamples> end_to_end;
    std::vector<PairedSamples> layers;
  };

  /// Split of an end-to-end change over the layers. The rest is unexplained.
  struct Attribution {
    double delta_seconds = 0.0;
    std::map<std::string, double> layers;
    double unexplained_seconds = 0.0;
  };

  std::string id;
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  std::vector<MetricComparison> metrics;   ///< end to end first, then the layers as given
  std::optional<Attribution> attribution;  ///< where end to end and layers could be compared
};

/// Compares paired samples.
///
/// - Each metric is the 10% trimmed mean of ln(candidate ÷ baseline), with Yuen's standard error
///   (Yuen, Biometrika 61, 1974).
/// - The variances of layers are moderated over each other (Smyth, Statistical Applications in
///   Genetics and Molecular Biology 3(1), 2004, §4-6), and their p-values corrected by Benjamini
///   and Hochberg (JRSS B 57, 1995).
/// - The end-to-end test stands alone, so that its power does not depend on the number of layers.
/// - The verdict of the whole is the end-to-end one where that found a change. Otherwise it is that
///   of the net change of the changed layers: layers that gain what others lose are no regression.
/// - A metric is inconclusive, with the reason, if it has fewer than three pairs, pairs that do not
///   match, or times that are not positive.
///
/// Pure.
[[nodiscard]] PairedComparison compare_pairs(const PairedComparison::Question& question,
                                             const ComparisonLimits& limits);

/// Compares paired samples as they would be judged while they are measured. The sequential rule
/// takes them in the order given, up to its last look. Level, floor and margin of each family are
/// those of the limits. Pure.
[[nodiscard]] PairedComparison compare_pairs_in_sequence(const PairedComparison::Question& question,
                                                         const ComparisonLimits& limits,
                                                         const SequentialRule& rule);

}  // namespace plumb::analysis
