// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"
#include "runners/cuda/exec/tensor_layout.hpp"

namespace plumb::cuda {

/// Translates a `conv`, `conv_integer`, `conv_transpose`, or a convolution's gradient by its data
/// or weights. The gradient is the layer's first output. Bias, addition and activation become
/// pointwise operations, each on the result before. An addition stands before the bias, where
/// cuDNN's own fused kernels have it. One spatial axis becomes two, the first of extent 1. Throws
/// Unsupported for what cuDNN cannot do.
[[nodiscard]] TensorGraph convolution_graph(const model::LayerSpec& spec, TensorLayout layout);

/// Translates a `max_pool` or `average_pool`. Previews alone ask about them: to execute a pool,
/// cuDNN's older calls and built-in kernels are used. Throws Unsupported for a pool that gives
/// positions or has dilations or fused steps.
[[nodiscard]] TensorGraph pool_graph(const model::LayerSpec& spec, TensorLayout layout);

}  // namespace plumb::cuda
