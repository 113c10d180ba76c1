// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/analysis/compare/metric_test.hpp"

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

}  // namespace plumb::analysis
