// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/layer_spec.hpp"

namespace plumb {

/// Returns whether a layer computes one of a convolution's gradients: `conv_backward_data` or
/// `conv_backward_weights`.
[[nodiscard]] bool is_convolution_gradient(const LayerSpec& spec);

/// Returns the convolution, pool or attention whose gradient a layer computes, without bias: its
/// operands and its output have the extents of the gradients that belong to them.
[[nodiscard]] LayerSpec forward_layer(const LayerSpec& gradient);

/// Returns the product of a `gemm_bias_gradient`, with its fused steps, as a `gemm` whose operands
/// stand at the same places.
[[nodiscard]] LayerSpec product_of(const LayerSpec& gradient);

}  // namespace plumb
