// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb::analysis {

/// Estimates the time of an executed plan from its parts: kind `predicted`, in the execution's
/// mode. The parts are the steps timed in context, if the execution has them.
///
/// Otherwise they are the rows of the layers alone, in the cache mode `weights`, and the reorders
/// between them. A layer's row is that of the variant that the plan uses, or its race where nothing
/// better was measured. Where that variant has no row, it is the key's fastest.
///
/// Absent: the execution does not list its layers, or the run has no such rows.
[[nodiscard]] std::optional<Bound> estimate_of_plan(const results::Execution& execution,
                                                    const ResultSet& results);

/// Returns the steps that estimate_of_plan() adds up. Empty: a step has no price of its own, or the
/// estimate is no sum (parallel branches).
[[nodiscard]] std::vector<ExecutionTime::PricedStep> priced_steps(
    const results::Execution& execution, const ResultSet& results);

/// Lists the layers of an execution that have a row of their own in this run. The largest
/// difference between inside and alone comes first; at most `most` are listed.
[[nodiscard]] std::vector<ExecutionTime::Layer> largest_differences(
    const results::Execution& execution,
    const model::Graph& graph,
    const ResultSet& results,
    std::size_t most);

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

/// Returns the newest load of each mode and scenario, in the order in which these first occur.
[[nodiscard]] std::vector<results::ScenarioResult> newest_loads(
    std::span<const results::ScenarioResult> loads);

/// Adds a run's loads of a model to its bounds, the newest of each mode and scenario. Findings are
/// added for a load that is invalid or was not executed (with the reason), and for a disturbed
/// host. Pure.
void add_loads(std::span<const results::ScenarioResult> loads, ModelBounds& model);

}  // namespace plumb::analysis
