// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Returns whether a layer computes one of a convolution's gradients: `conv_backward_data` or
/// `conv_backward_weights`.
[[nodiscard]] bool is_convolution_gradient(const LayerSpec& spec);

/// Returns the convolution, pool, gather or attention whose gradient a layer computes, without
/// bias. Its operands and its output have the extents of their gradients.
[[nodiscard]] LayerSpec forward_layer(const LayerSpec& gradient);

/// Returns the product of a `gemm_bias_gradient`, with its fused steps, as a `gemm` with operands
/// at the same places.
[[nodiscard]] LayerSpec product_of(const LayerSpec& gradient);

}  // namespace plumb::model
