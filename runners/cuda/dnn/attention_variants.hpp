// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"

namespace plumb::cuda {

/// Returns the gradient of attention as the one graph by which cuDNN knows it. It computes softmax
/// again from the statistics of each query, then the gradients by values, keys and queries. Two
/// tensors of f32 lie in memory in between, in buffers that the plan makes: dy·y of each query, and
/// the sums of the queries' gradient. Throws Unsupported for types other than f16 and bf16.
[[nodiscard]] GraphForm attention_gradient_form(const model::LayerSpec& spec);

/// Translates an `attention` layer of f16 or bf16 into cuDNN's scaled dot-product attention. cuDNN
/// knows it as these operations: product, scale, cap, mask, softmax by rows, product. Throws
/// Unsupported for what cuDNN cannot do: earlier keys, keys and values as outputs, boolean masks.
[[nodiscard]] TensorGraph attention_graph(const model::LayerSpec& spec);

/// Returns the form in which cuDNN executes an `attention` layer. Throws Unsupported. Needs no
/// library.
[[nodiscard]] GraphForm attention_form(const model::LayerSpec& spec);

/// Lists cuDNN's engines for an `attention` layer as one operation graph. All keep the layer's
/// promise of precision, and heuristic A's first choice stands first. Empty where cuDNN has no form
/// for the layer, or refuses it. Only the built-in kernel remains then.
[[nodiscard]] std::vector<VariantBuilder> attention_variants(const model::LayerSpec& spec,
                                                             CudnnHandle& handle);

/// Lists cuDNN's engines for the gradient of attention (attention_gradient_form()) in the same way.
/// Empty also where require_sound_attention_gradient() refuses the layer.
[[nodiscard]] std::vector<VariantBuilder> attention_gradient_offers(const model::LayerSpec& spec,
                                                                    CudnnHandle& handle);

/// Throws Unsupported for a layer that this version of cuDNN (91900: 9.19.0) must not execute.
/// Wrong results are known of 9.10.0 and 9.10.1, and up to 9.15 for numbers of keys that 128 does
/// not divide (cudnn-frontend pads those). One query with one key is refused too.
void require_sound_attention_gradient(const model::LayerSpec& spec, std::size_t version);

}  // namespace plumb::cuda
