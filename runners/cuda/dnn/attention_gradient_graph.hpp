// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/dnn/graph_variants.hpp"

namespace plumb::cuda {

/// Returns the gradient of attention as the one graph by which cuDNN knows it. It computes softmax
/// again from the statistics of each query, then the gradients by values, keys and queries. Two
/// tensors of f32 lie in memory in between, in buffers that the plan makes: dy·y of each query, and
/// the sums of the queries' gradient. Throws Unsupported for types other than f16 and bf16.
[[nodiscard]] GraphForm attention_gradient_form(const model::LayerSpec& spec);

}  // namespace plumb::cuda
