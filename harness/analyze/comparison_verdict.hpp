// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analyze/metric_test.hpp"

namespace plumb {

/// Lets the models decide, unless something does already: their end-to-end times, else their
/// bounds, else, without any models, the layers.
void choose_what_decides(std::span<MetricComparison* const> metrics);

/// Concludes from all metrics of a comparison of runs: broken if anything is; else what those that
/// decide say, and outputs and loads where they got worse. Layers and costs explain. Pure.
[[nodiscard]] ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics);

/// Sorts stably: broken, regressed, improved, then the rest.
void put_changes_first(std::vector<MetricComparison>& metrics);

}  // namespace plumb
