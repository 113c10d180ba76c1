// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analyze/metric_test.hpp"

namespace plumb {

/// Concludes from all metrics of a comparison of runs: broken or regressed if anything is; else
/// what the models' bounds say, or without any their end-to-end times, where there are any, since
/// among many layers some are always open;
/// never outputs, whose bits may change in any upgrade, loads or controls; costs beside the time
/// only where they regressed. Pure.
[[nodiscard]] ComparisonVerdict verdict_of_all(std::span<const MetricComparison> metrics);

/// Sorts stably: broken, regressed, improved, then the rest.
void put_changes_first(std::vector<MetricComparison>& metrics);

}  // namespace plumb
