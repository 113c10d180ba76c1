// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/layer_spec.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"

namespace plumb::cuda {

/// Translates the product of a `gemm` or `matmul` into cuDNN's: batch × rows × columns. Bias, C and
/// fused steps are left out. Throws Unsupported for vectors, for batches that broadcast in part,
/// and for types that cuDNN has no name of.
[[nodiscard]] TensorGraph product_graph(const model::LayerSpec& spec);

}  // namespace plumb::cuda
