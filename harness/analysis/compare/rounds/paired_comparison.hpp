// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/compare/paired_metric.hpp"
#include "harness/analysis/compare/rounds/sequential_comparison.hpp"

namespace plumb::analysis {

/// Samples for one question: did the model, or one of its layers, change?
struct PairedQuestion {
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

/// Answer to one question: the verdict of the whole, with its metrics.
struct PairedAnswer {
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
[[nodiscard]] PairedAnswer compare_pairs(const PairedQuestion& question,
                                         const ComparisonLimits& limits);

/// Compares paired samples as they would be judged while they are measured. The sequential rule
/// takes them in the order given, up to its last look. Level, floor and margin of each family are
/// those of the limits. Pure.
[[nodiscard]] PairedAnswer compare_pairs_in_sequence(const PairedQuestion& question,
                                                     const ComparisonLimits& limits,
                                                     const SequentialRule& rule);

}  // namespace plumb::analysis
