// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>

#include "harness/model/tensor.hpp"
#include "harness/rewrite/fused_graph.hpp"

namespace plumb {

/// Largest magnitude of each value, by the value's id.
using Magnitudes = std::map<ValueId, double>;

/// Finds the elements of a constant; null if they are not known.
using ConstantFinder = std::function<const Tensor*(ValueId)>;

/// Returns the largest magnitude of a tensor's numbers; 0 if it has none.
[[nodiscard]] double magnitude_of(const Tensor& tensor);

/// Computes the scales and 8-bit weights of a quantised graph and adds them to `made`: the largest
/// magnitude stands at the end of the grid, and rounding is to the nearest, ties to even. What is
/// zero everywhere gets the scale 1. Returns the first value whose elements or magnitude are not
/// known; empty: all was computed.
[[nodiscard]] std::optional<ValueId> quantize_constants(const FusedGraph& graph,
                                                        const ConstantFinder& find,
                                                        const Magnitudes& magnitudes,
                                                        std::map<ValueId, Tensor>& made);

}  // namespace plumb
