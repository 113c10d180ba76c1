// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "harness/model/key/tensor.hpp"
#include "harness/rewrite/fused_graph.hpp"

namespace plumb::engine {

/// Computes the folded weights and bias in float64 and adds them to `folded` in the graph's types.
/// Returns false, and adds nothing, if a constant has no elements. Throws Error{kInternal} for an
/// operand whose size is neither 1 nor the number of channels.
[[nodiscard]] bool fold_channels(const rewrite::ChannelFolding& folding,
                                 const model::Graph& graph,
                                 const std::map<model::ValueId, model::Tensor>& constants,
                                 std::map<model::ValueId, model::Tensor>& folded);

}  // namespace plumb::engine
