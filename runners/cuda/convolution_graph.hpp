// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/layer_spec.hpp"
#include "runners/cuda/tensor_graph.hpp"
#include "runners/cuda/tensor_layout.hpp"

namespace plumb::cuda {

/// Translates a `conv` or `conv_transpose`, or a convolution's gradient by its data or weights (the
/// first output). Bias, addition and activation become pointwise
/// operations, each on the result before; an addition stands before the bias, where cuDNN's own
/// fused kernels have it. One spatial axis becomes two, the first of extent 1. Throws Unsupported,
/// saying what cuDNN cannot be asked for.
[[nodiscard]] TensorGraph convolution_graph(const LayerSpec& spec, TensorLayout layout);

}  // namespace plumb::cuda
