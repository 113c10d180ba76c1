// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/measurement.hpp"
#include "harness/rewrite/fused_graph.hpp"

namespace plumb::engine {

/// Returns the refusal of a model that needs a value whose elements nobody knows.
[[nodiscard]] results::Outcome unknown_value(const model::Graph& graph, model::ValueId value);

/// Largest magnitudes of values, by the value's id.
using Magnitudes = std::map<model::ValueId, double>;

/// Function that finds the elements of a constant; null if they are not known.
using ConstantFinder = std::function<const model::Tensor*(model::ValueId)>;

/// Returns the largest magnitude of a tensor's numbers; 0 if it has none.
[[nodiscard]] double compute_magnitude(const model::Tensor& tensor);

/// Computes the scales and 8-bit weights of a quantised graph and adds them to `made`.
///
/// The largest magnitude becomes the end of the grid. Numbers are rounded to the nearest, ties to
/// even. A value that is zero everywhere gets the scale 1. Returns the first value whose elements
/// or magnitude are not known; empty if all was computed.
[[nodiscard]] std::optional<model::ValueId> quantize_constants(
    const rewrite::FusedGraph& graph,
    const ConstantFinder& find,
    const Magnitudes& magnitudes,
    std::map<model::ValueId, model::Tensor>& made);

/// Computes a graph's folded layers by the float64 reference and adds the results that its
/// constants lack. A layer whose operands or operator are not known adds nothing. Throws
/// Error{kUser} for shapes and indices that contradict each other.
void fold_constants(const model::Graph& graph, std::map<model::ValueId, model::Tensor>& constants);

/// Adds to `made` the results of folded layers that `known` does not have.
void fold_constants(const model::Graph& graph,
                    const std::map<model::ValueId, model::Tensor>& known,
                    std::map<model::ValueId, model::Tensor>& made);

/// Computes the folded weights and bias in float64 and adds them to `folded` in the graph's types.
/// Returns false, and adds nothing, if a constant has no elements. Throws Error{kInternal} for an
/// operand whose size is neither 1 nor the number of channels.
[[nodiscard]] bool fold_channels(const rewrite::ChannelFolding& folding,
                                 const model::Graph& graph,
                                 const std::map<model::ValueId, model::Tensor>& constants,
                                 std::map<model::ValueId, model::Tensor>& folded);

}  // namespace plumb::engine
