// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Extents of an `rnn`, `gru` or `lstm` layer.
struct RecurrentShape {
  std::int64_t steps = 0;  ///< length of the sequence
  std::int64_t batch = 0;
  std::int64_t input = 0;       ///< numbers a step
  std::int64_t hidden = 0;      ///< numbers of the state
  std::int64_t directions = 1;  ///< 2 if bidirectional
  std::int64_t gates = 1;  ///< 1, 3 or 4: rows of hidden numbers in w, r and each half of the bias
};

/// Returns whether a layer's operator is recurrent.
[[nodiscard]] bool is_recurrent(const LayerSpec& spec);

/// Reads the extents from x and r of a spec that check_spec accepts.
[[nodiscard]] RecurrentShape recurrent_shape(const LayerSpec& spec);

/// Extents of an `attention` layer.
struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;  ///< divides q_heads
  std::int64_t queries = 0;
  std::int64_t past = 0;        ///< keys of earlier steps
  std::int64_t keys = 0;        ///< all of them: past and new
  std::int64_t head = 0;        ///< numbers of a query and of a key
  std::int64_t value_head = 0;  ///< numbers of a value
  bool heads_apart =
      true;  ///< [batch, heads, sequence, numbers], else [batch, sequence, heads·numbers]

  [[nodiscard]] std::int64_t new_keys() const { return keys - past; }
};

/// Reads the extents of a spec that check_spec accepts.
[[nodiscard]] AttentionShape attention_shape(const LayerSpec& spec);

/// Counts the pairs of query and key that meet, in one head and batch entry. In a causal layer the
/// i-th query sees no key behind past + i.
[[nodiscard]] std::int64_t attended_pairs(const LayerSpec& spec, const AttentionShape& shape);

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

/// Returns whether a layer normalises its data, in inference or training, or is a gradient of such
/// a layer.
[[nodiscard]] bool is_normalization(const LayerSpec& spec);

/// Returns whether a layer adds up products of floating numbers, for which hardware offers factors
/// of fewer digits. Such layers are convolutions, matrix products, attention, recurrent layers, and
/// their gradients.
[[nodiscard]] bool is_floating_product(const LayerSpec& spec);

/// Returns whether a layer is one convolution or one matrix product of floating numbers, or a
/// gradient of one. Its errors do not pass through further products.
[[nodiscard]] bool is_single_product(const LayerSpec& spec);

}  // namespace plumb::model
