// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/layer_spec.hpp"
#include "runners/cuda/tensor_graph.hpp"

namespace plumb::cuda {

/// Translates an `attention` layer of f16 or bf16 into the operations that cuDNN knows as one
/// (scaled dot-product attention): product, scale, cap, mask, softmax by rows, product. Throws
/// Unsupported, saying what cuDNN cannot be asked for: earlier keys, keys and values as outputs,
/// boolean masks.
[[nodiscard]] TensorGraph attention_graph(const LayerSpec& spec);

}  // namespace plumb::cuda
