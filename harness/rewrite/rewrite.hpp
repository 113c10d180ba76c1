// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// The one layer that replaces several layers.
struct Replacement {
  model::LayerSpec spec;  ///< BatchNorm and scales are folded into weights and bias
  std::vector<std::optional<model::ValueId>>
      inputs;  ///< one to one with spec.inputs; with `folded`, operands 1 and 2 before it
  model::ValueId result = 0;
  std::vector<model::LayerId> folded;  ///< what scales and shifts the channels of weights (operand
                                       ///< 1, along its first axis) and bias (2), in order
};

/// Connected set of layers of a graph that one layer with another key may replace.
struct Match : Replacement {
  std::string_view rewrite;  ///< name of the rule, e.g. "conv_bn_activation"
  std::vector<model::LayerId>
      layers;  ///< all that it replaces, ascending; values in between have no other reader
  model::LayerKey key;
  model::LayerCost cost;
};

/// One rule of the table. The analysis predicts what it saves (harness/analysis), and a worker
/// executes it (runners/engine).
struct Rewrite {
  std::string_view name;
  std::string_view family;  ///< "fusion" or "folding": what a mode switches on
  std::vector<Match> (*find)(const model::Graph& graph);
};

/// Returns all rules, in the order of the table. A new rule is one function and one row.
[[nodiscard]] std::span<const Rewrite> rewrites();

/// Finds every place where any rule applies. Matches may overlap: cheapest_partition() or
/// largest_matches() chooses among them. They are sorted by first layer, then by rule. Time: linear
/// in the graph for the present rules.
[[nodiscard]] std::vector<Match> matches(const model::Graph& graph);

/// Chooses matches that share no layer, those of the most layers first. Only matches for which
/// `accepted` returns true count.
[[nodiscard]] std::vector<Match> largest_matches(const model::Graph& graph,
                                                 const std::function<bool(const Match&)>& accepted);

/// Returns the graph with the given floating type in place of f32. Accumulation stays f32, and all
/// other types stay. Rebuilds specs, keys and costs. A layer that has no such form becomes
/// kUnsupported.
[[nodiscard]] model::Graph with_precision(const model::Graph& graph, model::DataType type);

}  // namespace plumb::rewrite
