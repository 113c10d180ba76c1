// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"
#include "runners/engine/reference/numbers.hpp"

namespace plumb::engine {

/// Returns kOk if there is a reference for the operator and its types, else kUnsupported and the
/// reason.
[[nodiscard]] results::Outcome reference_support(const model::LayerSpec& spec);

/// Checks that a layer has a reference and that the operands are those of its key. Absent operands
/// are empty. Throws Error{kUser} otherwise.
void check_reference_operands(const model::LayerSpec& spec,
                              std::span<const model::Tensor> operands);

/// Computes a layer, epilogue included, in float64 from the ONNX operator specification. Shares no
/// code with any backend.
///
/// Operands are dense, in the key's order and types; absent ones have no data. Outputs are dense
/// and rounded once, at the end, to the key's types. Single-threaded.
///
/// Throws Error{kUser} if there is no reference for the layer, or if shapes, attributes or indices
/// contradict each other. Nothing outside the operands is ever read.
[[nodiscard]] std::vector<model::Tensor> reference_outputs(const model::LayerSpec& spec,
                                                           std::span<const model::Tensor> operands);

/// Returns whether some elements can be computed at far lower cost than all of them. Convolutions,
/// transposed convolutions, products and their gradients are sampled by single elements. Attention
/// is sampled by rows, recurrent layers by entries of the batch and steps.
[[nodiscard]] bool has_sampled_reference(const model::LayerSpec& spec);

/// Computes `count` output elements of a layer with has_sampled_reference(), or all if there are
/// fewer.
///
/// They are the corners (first and last of every pair of extents), border elements and then seeded
/// ones, without repetition, ascending. Of attention and recurrent layers there may be a few more
/// than `count`, from all outputs. The time is proportional to `count`. Throws as
/// reference_outputs() does.
[[nodiscard]] std::vector<SampledElement> sampled_reference(const model::LayerSpec& spec,
                                                            std::span<const model::Tensor> operands,
                                                            std::size_t count,
                                                            std::uint64_t seed);

}  // namespace plumb::engine
