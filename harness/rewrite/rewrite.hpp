// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {

/// One rule of the table. The analysis predicts what it saves (harness/analysis), and a worker
/// executes it (runners/engine).
struct Rewrite {
  std::string_view name;
  std::string_view family;  ///< "fusion" or "folding": what the mode fusion switches on; or
                            ///< "gradient": what only a FusionFamily does
  std::vector<Match> (*find)(const model::Graph& graph);
};

/// Returns all rules, in the order of the table. A new rule is one function and one row.
[[nodiscard]] std::span<const Rewrite> rewrites();

/// Finds every place where a rule of the mode fusion applies, or one of the FusionFamily that is
/// named. Matches may overlap: cheapest_partition() or largest_matches() chooses among them. They
/// are sorted by first layer, then by rule. Time: linear in the graph for the present rules.
[[nodiscard]] std::vector<Match> matches(const model::Graph& graph, std::string_view family = {});

/// Chooses matches that share no layer, those of the most layers first. Only matches for which
/// `accepted` returns true count.
[[nodiscard]] std::vector<Match> largest_matches(const model::Graph& graph,
                                                 const std::function<bool(const Match&)>& accepted,
                                                 std::string_view family = {});

/// Returns the graph with the given floating type in place of f32. Accumulation stays f32, and all
/// other types stay. Rebuilds specs, keys and costs. A layer that has no such form becomes
/// kUnsupported.
[[nodiscard]] model::Graph with_precision(const model::Graph& graph, model::DataType type);

/// Lets a product of f32 round its factors to TF32, if it promises no more than strict math. Any
/// other layer stays.
[[nodiscard]] model::LayerSpec with_tf32(model::LayerSpec spec);

/// Returns the graph with_tf32() of every layer. All tensors stay f32.
[[nodiscard]] model::Graph with_tf32(const model::Graph& graph);

/// Makes the key and the cost of a layer whose spec has changed. A layer that has no such form
/// becomes kUnsupported.
void rekey(model::Layer& layer);

}  // namespace plumb::rewrite
