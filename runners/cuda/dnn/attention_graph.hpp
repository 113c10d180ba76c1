// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"

namespace plumb::cuda {

/// Translates an `attention` layer of f16 or bf16 into cuDNN's scaled dot-product attention. cuDNN
/// knows it as these operations: product, scale, cap, mask, softmax by rows, product. Throws
/// Unsupported for what cuDNN cannot do: earlier keys, keys and values as outputs, boolean masks.
[[nodiscard]] TensorGraph attention_graph(const model::LayerSpec& spec);

}  // namespace plumb::cuda
