// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/whatif/what_if.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

/// Lists what each what-if saves inside the executed plans, where it was predicted from them. Steps
/// of both plans that cover the same layers are compared, so the savings add up to the predicted
/// one. The list is empty where the steps have no prices of their own. Pure.
void add_plan_savings(std::span<const results::Execution> executions,
                      const model::Graph& graph,
                      const ResultSet& results,
                      ModelWhatIfs& whatifs);

}  // namespace plumb::analysis
