// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/graph.hpp"

namespace plumb {

/// The one layer that replaces several layers.
struct Replacement {
  LayerSpec spec;  ///< BatchNorm and scales are folded into weights and bias
  std::vector<std::optional<ValueId>>
      inputs;  ///< one to one with spec.inputs; with `folded`, operands 1 and 2 before it
  ValueId result = 0;
  std::vector<LayerId> folded;  ///< what scales and shifts the channels of weights (operand 1,
                                ///< along its first axis) and bias (2), in order
};

/// Connected set of layers of a graph that may be executed as one layer with another key.
struct Match : Replacement {
  std::string_view rewrite;  ///< name of the rule, e.g. "conv_bn_relu"
  std::vector<LayerId>
      layers;  ///< all covered layers, ascending; intermediate values have no other consumer
  LayerKey key;
  LayerCost cost;
};

/// One rule of the table. Predicts in analyze, realises in runners/engine.
struct Rewrite {
  std::string_view name;
  std::string_view family;  ///< "fusion" or "folding": what a mode switches on
  std::vector<Match> (*find)(const Graph& graph);
};

/// Lists all rules. One visible table; a new rule is one file and one row.
[[nodiscard]] std::span<const Rewrite> rewrites();

/// Finds every place where any rule applies; matches may overlap (choosing is the cover's
/// business). Sorted by first layer, then rule. Linear in the graph for the rules here.
[[nodiscard]] std::vector<Match> matches(const Graph& graph);

/// Chooses matches that share no layer: those of the most layers first, of all that `accepted` says
/// may be used.
[[nodiscard]] std::vector<Match> largest_matches(const Graph& graph,
                                                 const std::function<bool(const Match&)>& accepted);

/// Returns the graph with every floating tensor of the given type instead of f32 (accumulation
/// stays f32; index, shape and integer tensors stay). Rebuilds specs, keys and costs. A layer that
/// has no such form becomes kUnsupported.
[[nodiscard]] Graph with_precision(const Graph& graph, DataType type);

}  // namespace plumb
