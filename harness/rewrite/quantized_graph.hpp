// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/rewrite/fused_graph.hpp"

namespace plumb {

/// Type of a model's instance that was made by int8_graph().
inline constexpr std::string_view kInt8 = "int8";

/// Returns the graph with convolutions and products with constant weights in 8 bits, as inference
/// runtimes quantise after training (Krishnamoorthi 2018, arXiv:1806.08342, §3.1): weights s8 with
/// a scale for each output channel, activations with one scale: u8 where they cannot be negative,
/// s8 elsewhere; no zero points. A value that only such layers read, directly or through layers
/// that move numbers (max-pool, concat, transpose, views), is left in 8 bits by the layer that
/// makes it; elsewhere a `quantize` layer stands before its readers. What is fused to a layer is
/// computed in f32 before its result is rounded; everything else stays as it is. Of floating types
/// f32 only.
[[nodiscard]] FusedGraph quantized_graph(const FusedGraph& fused);

/// Returns a model's graph in 8 bits as a mode with fusion and int8 executes it: the largest
/// matches fused, then quantised.
[[nodiscard]] FusedGraph int8_graph(const Graph& graph);

}  // namespace plumb
