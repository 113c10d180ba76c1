// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/training/gradient_exchange.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/graph/graph_memory.hpp"

namespace plumb::analysis {

/// Layers of a step of training with their hot times by the library's own choice, or by the fastest
/// variant where that was not timed, as where it is slow reference code.
struct MeasuredStep {
  std::vector<Seconds> times;  ///< by layer; 0 for views and folded layers
  Seconds total{};
  std::string why_not;  ///< non-empty: no step of training, or a layer without a time
};
[[nodiscard]] MeasuredStep measured_step(const model::Graph& graph, const ResultSet& results);

/// Lists the layers in order with the gradients that updates wait for.
[[nodiscard]] std::vector<TimedLayer> timed_layers(const model::Graph& graph,
                                                   const MeasuredStep& step);

/// Step that computes some values again, with what that costs and saves.
struct PricedCheckpoints {
  std::size_t repeated = 0;  ///< layers that are executed twice
  model::GraphMemory memory;
  Seconds recomputation{};
};

/// Returns steps from the smallest memory to the one that keeps all, of which none is both slower
/// and larger than another.
[[nodiscard]] std::vector<PricedCheckpoints> price_checkpoints(const model::Graph& graph,
                                                               const MeasuredStep& step);

}  // namespace plumb::analysis
