// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "harness/model/tensor.hpp"
#include "harness/rewrite/fused_graph.hpp"

namespace plumb {

/// Computes folded weights and bias, in float64, and adds them to `folded` in the types that the
/// graph gives them. False, and nothing is added, if one of the constants has no elements. Throws
/// Error{kInternal} for an operand whose size is neither 1 nor the number of channels.
[[nodiscard]] bool fold_channels(const ChannelFolding& folding,
                                 const Graph& graph,
                                 const std::map<ValueId, Tensor>& constants,
                                 std::map<ValueId, Tensor>& folded);

}  // namespace plumb
