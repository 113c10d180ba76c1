// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// Is what a comparison concludes about one metric, or as a whole.
enum class ComparisonVerdict { kBroken, kRegressed, kImproved, kEquivalent, kInconclusive };
[[nodiscard]] std::string_view to_text(ComparisonVerdict verdict);

/// Holds the times of one metric under both sides: round i of one was measured next to round i of
/// the other, each in a restarted process. Seconds.
struct PairedSamples {
  std::string name;
  std::vector<double> baseline;
  std::vector<double> candidate;
};

/// Is one question: did the model, or one of its layers, change?
struct PairedQuestion {
  std::string id;
  std::optional<PairedSamples> end_to_end;
  std::vector<PairedSamples> layers;
};

/// Says how sure, and how large, a change must be.
struct ComparisonLimits {
  double alpha = 0.01;  ///< false alarms of the end-to-end test
  double false_discovery_rate = 0.05;  ///< over the layers of one question
  double end_to_end_floor = 0.0;  ///< relative changes below it are none
  double layer_floor = 0.0;
  double end_to_end_margin = 0.01;  ///< equivalent: the interval lies within it
  double layer_margin = 0.02;
};

/// Is the answer for one metric.
struct MetricComparison {
  std::string series;  ///< "end_to_end" or "layers/NAME"
  std::string kind;    ///< "end_to_end" or "layer"
  double baseline = 0.0;   ///< median, seconds; 0 where there is none
  double candidate = 0.0;
  std::optional<double> ratio;  ///< candidate ÷ baseline, from the trimmed mean of the pairs' logarithms
  double low = 0.0;             ///< of the ratio, 95%; with `ratio`
  double high = 0.0;
  std::optional<double> q;    ///< p end to end; false-discovery-controlled for layers
  std::optional<double> mde;  ///< smallest relative change found in 80% of cases at `alpha`
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  std::string reason;    ///< why inconclusive, where the samples are at fault
  double delta = 0.0;    ///< candidate − baseline, trimmed mean of the pairs, seconds
  double error = 0.0;    ///< its standard error
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
  std::vector<MetricComparison> metrics;  ///< end to end first, then the layers as given
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

}  // namespace plumb
