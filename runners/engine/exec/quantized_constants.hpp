// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>

#include "harness/model/key/tensor.hpp"
#include "harness/rewrite/fused_graph.hpp"

namespace plumb {

/// Largest magnitudes of values, by the value's id.
using Magnitudes = std::map<ValueId, double>;

/// Function that finds the elements of a constant; null if they are not known.
using ConstantFinder = std::function<const Tensor*(ValueId)>;

/// Returns the largest magnitude of a tensor's numbers; 0 if it has none.
[[nodiscard]] double magnitude_of(const Tensor& tensor);

/// Computes the scales and 8-bit weights of a quantised graph and adds them to `made`.
///
/// The largest magnitude becomes the end of the grid. Numbers are rounded to the nearest, ties to
/// even. A value that is zero everywhere gets the scale 1. Returns the first value whose elements
/// or magnitude are not known; empty if all was computed.
[[nodiscard]] std::optional<ValueId> quantize_constants(const FusedGraph& graph,
                                                        const ConstantFinder& find,
                                                        const Magnitudes& magnitudes,
                                                        std::map<ValueId, Tensor>& made);

}  // namespace plumb
