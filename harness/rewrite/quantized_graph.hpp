// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/rewrite/fused_graph.hpp"

namespace plumb::rewrite {

/// Name of the type of a model's instance that int8_graph() made.
inline constexpr std::string_view kInt8 = "int8";

/// Returns the graph with convolutions and products with constant weights in 8 bits. The scheme is
/// that of inference runtimes after training (Krishnamoorthi 2018, arXiv:1806.08342, §3.1). Only
/// f32 is quantised.
/// - Weights are s8, with a scale for each output channel.
/// - Activations have one scale. They are u8 where they cannot be negative, and s8 elsewhere.
/// - There are no zero points.
///
/// A value may be read by such layers only, directly or through layers that move numbers (max-pool,
/// concat, transpose, views). The layer that makes it then leaves it in 8 bits. Elsewhere a
/// `quantize` layer stands before the readers. Fused steps are computed in f32 before the result is
/// rounded. All other layers stay as they are.
[[nodiscard]] FusedGraph quantized_graph(const FusedGraph& fused);

/// Returns a model's graph in 8 bits, as a mode with fusion and int8 executes it. The largest
/// matches are fused, then the graph is quantised.
[[nodiscard]] FusedGraph int8_graph(const model::Graph& graph);

}  // namespace plumb::rewrite
