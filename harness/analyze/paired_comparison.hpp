// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/analyze/paired_metric.hpp"
#include "harness/analyze/sequential_comparison.hpp"

namespace plumb {

/// Samples that answer one question: did the model, or one of its layers, change?
struct PairedQuestion {
  std::string id;
  std::optional<PairedSamples> end_to_end;
  std::vector<PairedSamples> layers;
};

/// Splits the end-to-end change over the layers; what they leave is unexplained.
struct Attribution {
  double delta_seconds = 0.0;
  std::map<std::string, double> layers;
  double unexplained_seconds = 0.0;
};

struct PairedAnswer {
  std::string id;
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  std::vector<MetricComparison> metrics;   ///< end to end first, then the layers as given
  std::optional<Attribution> attribution;  ///< where end to end and layers could be compared
};

/// Compares paired samples.
///
/// Each metric: the 10% trimmed mean of ln(candidate ÷ baseline) with Yuen's standard error (Yuen,
/// Biometrika 61, 1974). Layers: their variances are moderated over each other (Smyth, Statistical
/// Applications in Genetics and Molecular Biology 3(1), 2004, §4-6) and their p-values corrected by
/// Benjamini and Hochberg (JRSS B 57, 1995); the end-to-end test stands alone, so that a thousand
/// layers don't blind it. The verdict of the whole is the end-to-end one where that found a
/// change; else that of the net change of the layers found changed, so that layers that gain what
/// others lose are no regression. Fewer than three pairs, pairs that do not match, and times that
/// are not positive make a metric inconclusive, with the reason. Pure.
[[nodiscard]] PairedAnswer compare_pairs(const PairedQuestion& question,
                                         const ComparisonLimits& limits);

/// Compares paired samples as they would be judged while they are measured: by the sequential rule,
/// in the order given, up to its last look. Level, floor and margin of each family are the limits'.
/// Pure.
[[nodiscard]] PairedAnswer compare_pairs_in_sequence(const PairedQuestion& question,
                                                     const ComparisonLimits& limits,
                                                     const SequentialRule& rule);

}  // namespace plumb
