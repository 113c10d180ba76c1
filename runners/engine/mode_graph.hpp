// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/rewrite/fused_graph.hpp"
#include "harness/worker/backend.hpp"
#include "harness/worker/execute_request.hpp"

namespace plumb {

/// Input that a backend gets to execute a model in one mode.
struct ModeGraph {
  FusedGraph fused;
  LayerVariants variants;  ///< of keys that are not left to the library
  /// In 8 bits: the same before, with those values as outputs whose magnitudes the scales are made
  /// of.
  std::optional<FusedGraph> observed;
};

/// Makes the graph of a mode from the model's graph in its own type. What is fused: the request's
/// steps, if the mode has best_variant; else the most layers that one rule takes together come
/// first, and nothing is fused that the backend has only slow reference code for. By which
/// variants: with channels_last the library's first one that has its channels last, where there is
/// one. In 8 bits: what is fused as with fusion, if the mode has it, then quantised. Throws
/// Error{kUser} for steps that do not fit the graph.
[[nodiscard]] ModeGraph graph_of_mode(const Graph& graph,
                                      const ModeRequest& request,
                                      const Backend& backend);

}  // namespace plumb
