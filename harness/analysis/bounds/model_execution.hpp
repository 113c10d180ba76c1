// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/process_pool.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

/// Returns the time of one mode over its processes.
[[nodiscard]] ExecutionTime execution_time(const ReplicatedExecution& execution);

/// Adds a run's executions of a model, over the processes of each mode, to its bounds. The estimate
/// `predicted` of an executed plan replaces the mode's `layer_sum`. Findings are added for no time
/// (with the reason), nodes that fell back to the CPU, and a bound of the same mode above the
/// measured time. A disturbed host and an unstable time are disturbances. Bound and time are
/// compared by the ends of their intervals (docs/reference/bounds.md). Executions among other
/// shapes are kept apart. Pure.
void add_executions(std::span<const results::Execution> executions,
                    const model::Graph& graph,
                    const ResultSet& results,
                    ModelBounds& model);

}  // namespace plumb::analysis
