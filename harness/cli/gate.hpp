// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/metric_test.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb::cli {

/// Returns the exit status of a gate. It is 1 for a break or a regression, else 75 if something
/// stays open or nothing was judged, else 0.
[[nodiscard]] int gate_status(std::span<const analysis::ComparisonVerdict> verdicts);

/// Returns the exit status for the loads of a run. It is 1 if one failed or its worker died, 3 if
/// one was refused, 75 if one is inconclusive, else 0. Only the newest of each model, mode and
/// scenario counts.
[[nodiscard]] int compute_exit_status(
    const std::map<std::string, std::vector<results::ScenarioResult>>& loads);

}  // namespace plumb::cli
