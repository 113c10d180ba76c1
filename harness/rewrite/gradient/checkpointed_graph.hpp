// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/checkpoint_plan.hpp"
#include "harness/rewrite/gradient/training_step.hpp"

namespace plumb::rewrite {

/// Cuts each micro-batch of a step where only one of its values is alive. `costs` are those of the
/// step's layers, by number. The step's first output is the loss, or the sum of several losses.
/// What several micro-batches read is no part of a chain: it is kept anyway.
[[nodiscard]] std::vector<CheckpointPlan::Chain> chains_of_step(const model::Graph& step,
                                                                std::span<const double> costs);

/// Returns what model::rough_cost() says of each layer; 0 for what is not executed.
[[nodiscard]] std::vector<double> rough_costs(const model::Graph& graph);

/// Inserts what the plans of the chains recompute before the first layer that reads it. Layers
/// whose results no gradient reads are not repeated. `changes` counts layers that are executed
/// twice, without views.
[[nodiscard]] TrainingStep::Rewritten checkpointed_graph(
    const model::Graph& step,
    std::span<const CheckpointPlan::Chain> chains,
    std::span<const CheckpointPlan> plans);

/// Returns the cheapest step by rough costs that takes at most `cap` of memory, as
/// model::compute_memory() counts it: the one with the largest plan of the front that fits. Absent:
/// the graph is no step of training, or not even smallest_step() fits.
[[nodiscard]] std::optional<TrainingStep::Rewritten> step_within(const model::Graph& step,
                                                                 Bytes cap);

/// Returns the step with the smallest memory that recomputing each value once allows, by rough
/// costs (the mode `checkpointing` without a cap). Absent: the graph is no step of training.
[[nodiscard]] std::optional<TrainingStep::Rewritten> smallest_step(const model::Graph& step);

}  // namespace plumb::rewrite
