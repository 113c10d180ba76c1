// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "harness/results/outcome.hpp"

namespace plumb {

/// One output element computed apart from all others.
struct SampledElement {
  std::size_t output = 0;   ///< index into LayerSpec::outputs
  std::size_t element = 0;  ///< index into the dense output
  double value = 0.0;       ///< float64, not rounded to the output's type
};

/// Returns kOk if there is a reference for the operator and its types, else kUnsupported and why.
[[nodiscard]] Outcome reference_support(const LayerSpec& spec);

/// Throws Error{kUser} unless there is a reference for the layer and the operands are what its key
/// says (absent ones empty).
void check_reference_operands(const LayerSpec& spec, std::span<const Tensor> operands);

/// Computes a layer, epilogue included, in float64 from the ONNX operator specification, sharing no
/// code with any backend. Operands are dense, in the key's order and types (absent: empty data);
/// outputs are dense and rounded once, at the end, to the key's types. Single-threaded.
///
/// Throws Error{kUser} if there is no reference for the layer, or if shapes, attributes or indices
/// contradict each other: nothing outside the operands is ever read.
[[nodiscard]] std::vector<Tensor> reference_outputs(const LayerSpec& spec,
                                                    std::span<const Tensor> operands);

/// Returns whether some elements can be computed at a cost far below that of all. Layers of conv,
/// conv_transpose and products are sampled one element at a time. Attention is sampled by rows,
/// recurrent layers by entries of the batch and steps.
[[nodiscard]] bool has_sampled_reference(const LayerSpec& spec);

/// Computes `count` output elements (all, if there are fewer) of a layer with
/// has_sampled_reference: first and last of every pair of extents (corners), border elements, then
/// seeded ones, without repetition, ascending. Takes time in proportion to count. Of attention
/// and recurrent layers: `count` or a few more, from all outputs. Throws as reference_outputs does.
[[nodiscard]] std::vector<SampledElement> sampled_reference(const LayerSpec& spec,
                                                            std::span<const Tensor> operands,
                                                            std::size_t count,
                                                            std::uint64_t seed);

}  // namespace plumb
