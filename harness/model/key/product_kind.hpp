// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Positions of the zero points and scales among the operands of a `conv_integer` or
/// `matmul_integer`. Each may be left out. An absent zero point is zero. Without scales the result
/// is the s32 accumulator.
struct QuantizedProduct {
  std::size_t x_zero_point;
  std::size_t w_zero_point;
  std::size_t x_scale;
  std::size_t w_scale;
  std::size_t y_scale;
  std::size_t y_zero_point;
};

/// Returns whether a layer is a product of 8-bit integers, accumulated in s32.
[[nodiscard]] bool is_integer_product(const LayerSpec& spec);

/// Returns the positions of the operands of an integer product. Throws Error{kInternal} for other
/// layers.
[[nodiscard]] QuantizedProduct quantized_product(const LayerSpec& spec);

/// Returns whether a layer's result is rounded to a grid of integers. Such layers are `quantize`,
/// and products with a scale of their result. Two correct implementations may differ by one at a
/// tie.
[[nodiscard]] bool rounds_to_integers(const LayerSpec& spec);

/// Returns whether a layer adds up products of floating numbers, for which hardware offers factors
/// of fewer digits. Such layers are convolutions, matrix products, attention, recurrent layers, and
/// their gradients.
[[nodiscard]] bool is_floating_product(const LayerSpec& spec);

/// Returns whether a layer is one convolution or one matrix product of floating numbers, or a
/// gradient of one. Its errors do not pass through further products.
[[nodiscard]] bool is_single_product(const LayerSpec& spec);

}  // namespace plumb::model
