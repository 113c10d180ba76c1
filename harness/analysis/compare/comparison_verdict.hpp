// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/compare/metric_test.hpp"

namespace plumb {

/// Chooses the metrics that decide, unless some do already. These are the models' end-to-end times,
/// else their bounds, else, without models, the layers.
void choose_what_decides(std::span<MetricComparison* const> metrics);

/// Concludes from all metrics of a comparison of runs. Broken: any metric is. Otherwise the metrics
/// that decide count, and outputs and loads that got worse. Other layers and costs only explain.
/// Pure.
[[nodiscard]] ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics);

/// Sorts stably: broken, regressed, improved, then the rest.
void put_changes_first(std::vector<MetricComparison>& metrics);

}  // namespace plumb
