// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/rewrite/fused_graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::engine {

/// Graph and variants that a backend gets to execute a model in one mode.
struct ModeGraph {
  rewrite::FusedGraph fused;
  worker::LayerVariants variants;  ///< for the keys whose variant the library does not choose
  /// In a mode with 8-bit integers: the graph before quantisation, with those values as outputs
  /// whose magnitudes set the scales.
  std::optional<rewrite::FusedGraph> observed;
};

/// Makes the graph of a mode from the model's graph in its own type.
///
/// - best_variant without int8: the matches that the request's steps name are fused.
/// - fusion otherwise: the match that takes the most layers together comes first. Nothing is fused
///   for which the backend has only reference code. A family of fusions likewise, with its rules
///   alone.
/// - channels_last: each layer gets the library's first variant with channels last, if there is
///   one.
/// - int8: the fused graph is quantised.
/// - checkpointing: the graph computes again what it does not keep. This comes before fusion. With
///   a cap it keeps as much as fits below it.
/// - folded_norms: convolutions of a step compute the frozen batch normalisations behind them. This
///   comes before fusion.
///
/// For a backend that plans models itself, the graph stays as written.
///
/// Throws Error{kUser} for steps that do not fit the graph, for checkpointing of a graph that is no
/// step of training or does not fit below its cap, for folded_norms of one without such batch
/// normalisations, and for a family of fusions of which nothing is joined.
[[nodiscard]] ModeGraph graph_of_mode(const model::Graph& graph,
                                      const worker::ModeRequest& request,
                                      const worker::Backend& backend,
                                      std::optional<Bytes> memory_cap = {});

}  // namespace plumb::engine
