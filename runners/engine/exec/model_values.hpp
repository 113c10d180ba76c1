// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <vector>

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
[[nodiscard]] bool fold_channels(const rewrite::FusedGraph::Folding& folding,
                                 const model::Graph& graph,
                                 const std::map<model::ValueId, model::Tensor>& constants,
                                 std::map<model::ValueId, model::Tensor>& folded);

/// Returns the largest difference over all floating outputs, relative to the largest expected
/// magnitude. Both lists have the same types and extents in the same order.
[[nodiscard]] double largest_difference(std::span<const model::Tensor> outputs,
                                        std::span<const model::Tensor> expected);

/// Returns the distance of the outputs of each kind, relative to the norm of the expected ones.
///
/// `kinds` has a number for each output, from 0. So a gradient that is zero but for rounding, as
/// that of a bias before a normalisation, is compared with the size of all gradients.
[[nodiscard]] std::vector<double> distances_by_kind(std::span<const model::Tensor> outputs,
                                                    std::span<const model::Tensor> expected,
                                                    std::span<const std::size_t> kinds);

/// Distance of outputs from the expected ones, and what rounding explains.
struct Deviation {
  double error = 0.0;
  double most = 0.0;
  [[nodiscard]] bool is_beyond() const { return !(error <= most); }  ///< also what is no number
};

/// Returns the distance that is the largest beside what rounding explains of its kind: four times
/// what measure_rounding() found, at least `most` and otherwise at most 0.3, or 1 where `most` is
/// that of few digits. An empty `rounding` is not known.
[[nodiscard]] Deviation worst_distance(std::span<const double> distances,
                                       std::span<const double> rounding,
                                       double most);

/// Returns the largest difference from the reference of the same graph that counts as rounding. It
/// is 2e-4 where all is f32 or wider, 0.3 with 8-bit integers, and 0.1 otherwise. The reference
/// rounds where the graph does, so that a deep model's own rounding is not in it.
[[nodiscard]] double tolerated_by_reference(const model::Graph& graph);

/// Returns the largest difference that counts as rounding of a model that was executed in a type of
/// suites. It is 1e-3 where that and all floating outputs are f32, and 0.5 otherwise. Rounding to
/// bf16 costs a well conditioned model 1%, and the zoo's worst (DUC, with random weights) 43%. A
/// result that has nothing to do with the right one is off by 100%.
[[nodiscard]] double tolerated_difference(std::span<const model::Tensor> outputs,
                                          std::string_view type);

}  // namespace plumb::engine
