// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb::analysis {

/// Returns the newest load of each mode and scenario, in the order in which these first occur.
[[nodiscard]] std::vector<results::ScenarioResult> newest_loads(
    std::span<const results::ScenarioResult> loads);

/// Adds a run's loads of a model to its bounds, the newest of each mode and scenario. Findings are
/// added for a load that is invalid or was not executed (with the reason), and for a disturbed
/// host. Pure.
void add_loads(std::span<const results::ScenarioResult> loads, ModelBounds& model);

}  // namespace plumb::analysis
