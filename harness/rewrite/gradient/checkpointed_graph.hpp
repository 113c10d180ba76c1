// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/checkpoint_plan.hpp"

namespace plumb::rewrite {

/// Forward pass of a micro-batch as a chain of stages. The forward pass is what its loss is
/// computed from.
struct StepChain {
  std::vector<ChainStage> stages;
  std::vector<std::vector<model::LayerId>> layers;  ///< of each stage
  std::vector<model::ValueId> results;              ///< of each stage; the last one is the loss
};

/// Cuts each micro-batch of a step where only one of its values is alive. `costs` are those of the
/// step's layers, by number. The step's first output is the loss, or the sum of several losses.
/// What several micro-batches read is no part of a chain: it is kept anyway.
[[nodiscard]] std::vector<StepChain> chains_of_step(const model::Graph& step,
                                                    std::span<const double> costs);

/// Returns what model::rough_cost() says of each layer; 0 for what is not executed.
[[nodiscard]] std::vector<double> rough_costs(const model::Graph& graph);

/// Step that computes some values a second time instead of keeping them for the backward pass.
struct CheckpointedGraph {
  model::Graph graph;  ///< values of the step keep their numbers; those computed again follow
  std::vector<model::LayerId> origins;  ///< of each layer: the layer of the step that it repeats
  std::size_t repeated = 0;             ///< layers that are executed twice, without views
};

/// Inserts what the plans of the chains recompute before the first layer that reads it. Layers
/// whose results no gradient reads are not repeated.
[[nodiscard]] CheckpointedGraph checkpointed_graph(const model::Graph& step,
                                                   std::span<const StepChain> chains,
                                                   std::span<const CheckpointPlan> plans);

/// Returns the cheapest step by rough costs that takes at most `cap` of memory, as
/// model::compute_memory() counts it: the one with the largest plan of the front that fits. Absent:
/// the graph is no step of training, or not even smallest_step() fits.
[[nodiscard]] std::optional<CheckpointedGraph> step_within(const model::Graph& step, Bytes cap);

/// Returns the step with the smallest memory that recomputing each value once allows, by rough
/// costs (the mode `checkpointing` without a cap). Absent: the graph is no step of training.
[[nodiscard]] std::optional<CheckpointedGraph> smallest_step(const model::Graph& step);

}  // namespace plumb::rewrite
