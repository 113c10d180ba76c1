// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/compare/finding.hpp"
#include "harness/analysis/compare/metric_test.hpp"
#include "harness/analysis/compare/process_deviation.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::analysis {

/// Chooses the metrics that decide, unless some do already. These are the models' end-to-end times,
/// else their bounds, else, without models, the layers.
void choose_what_decides(std::span<MetricComparison* const> metrics);

/// Concludes from all metrics of a comparison of runs. Broken: any metric is. Otherwise the metrics
/// that decide count, and outputs and loads that got worse. Other layers and costs only explain.
/// Pure.
[[nodiscard]] ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics);

/// Change of all metrics that decide, as one number: the geometric mean of their ratios.
struct OverallChange {
  /// Series and kind are "geometric_mean" and "overall". Both times are geometric means too.
  MetricComparison metric;
  std::size_t metrics = 0;  ///< with a time in both runs
  std::size_t slower = 0;   ///< ratio above one, however little
  std::size_t faster = 0;
};

/// Sums up the metrics that decide and have times on both sides. Absent: fewer than two have.
///
/// The interval and p come from the scatter of ln(candidate ÷ baseline) over the metrics. They say
/// what another choice of benchmarks would have given. LearnedNoise::kAssumed is added once for
/// each side, because a run may be slow in all of its metrics. The verdict stands beside that of
/// the comparison, which rests on the single metrics. Metrics without an interval of their own
/// count too. Pure.
[[nodiscard]] std::optional<OverallChange> overall_change(std::span<const MetricComparison> metrics,
                                                          const ComparisonLimits& limits);

/// Sorts stably: broken, regressed, improved, then the rest.
void put_changes_first(std::vector<MetricComparison>& metrics);

/// Layer or benchmark that failed in both runs, and alike. Nothing changed, so no gate waits for
/// it.
struct NotCompared {
  std::string series;
  results::Outcome baseline;
  results::Outcome candidate;
};

/// Returns whether two failures are of one kind and say the same, but for words with digits or
/// signs in them. Such words are numbers, addresses, paths and times. Pure.
[[nodiscard]] bool failed_alike(const results::Outcome& baseline,
                                const results::Outcome& candidate);

/// Concludes from two failures that are not alike. A graver one than before is broken. Any other
/// stays inconclusive, because somebody has to look at it. Fills in verdict and reason.
void judge_failures(const results::Outcome& baseline,
                    const results::Outcome& candidate,
                    MetricComparison& metric);

/// Side of a comparison of runs.
struct RunSide {
  const ResultSet& results;
  std::span<const ModelBounds> models;
  std::map<std::string, std::vector<results::Execution>> executions =
      {};  ///< by subject_of() the model
};

/// Differences between two runs, metric by metric. Broken metrics come first, then changed ones,
/// then the rest; bounds come before layers.
struct RunComparison {
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  ProcessDeviation deviation;
  std::vector<MetricComparison> metrics;
  std::vector<NotCompared> not_compared;       ///< failed alike in both; they decide nothing
  std::optional<OverallChange> overall;        ///< of the metrics that decide
  std::vector<ModelAttribution> attributions;  ///< of models whose layers both runs list
  std::vector<QualificationFinding> findings;  ///< what got worse, by its cause
};

/// Comparison of one layer between two runs, with the variant that each executed.
struct ComparedLayer {
  MetricComparison metric;
  std::string key;               ///< empty: not the layer itself, but its capability
  std::string baseline_variant;  ///< empty: one side has no time
  std::string candidate_variant;
  std::optional<NotCompared> not_compared;  ///< then `metric` is no part of the comparison
};

}  // namespace plumb::analysis
