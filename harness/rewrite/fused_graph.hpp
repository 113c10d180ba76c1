// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/rewrite/rewrite.hpp"

namespace plumb {

/// Says from what the constants of a fused layer are made, once, before the model runs: each layer
/// in order scales and shifts the channels that weights and bias belong to.
struct ChannelFolding {
  ValueId weights = 0;          ///< before; its first axis are the channels
  std::optional<ValueId> bias;  ///< before; absent: zero
  std::vector<Layer> layers;    ///< batch_norm, or binary mul, add, sub, div with a constant
  ValueId folded_weights = 0;
  ValueId folded_bias = 0;
};

/// Is a graph in which some layers were replaced by fewer that compute the same.
struct FusedGraph {
  Graph graph;  ///< values of the graph it was made of keep their ids; folded constants follow
  std::vector<ChannelFolding> foldings;
  std::vector<std::vector<LayerId>> origins;  ///< of each layer: those it was made of, ascending
};

/// Replaces the layers of each match by its one layer, which stands where the last of them stood
/// and is named after the first. Throws Error{kInternal} if matches overlap.
[[nodiscard]] FusedGraph fused_graph(const Graph& graph, std::span<const Match> matches);

}  // namespace plumb
