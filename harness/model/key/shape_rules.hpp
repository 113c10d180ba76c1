// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model::shape_rules {

using Dims = std::vector<std::int64_t>;

/// Exception that ends a check at the first mismatch.
struct Mismatch : std::runtime_error {
  Mismatch(std::string in_field, const std::string& text)
      : std::runtime_error(text), field(std::move(in_field)) {}
  std::string field;
};

template <typename... Args>
void require(bool condition, const char* field, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) {
    throw Mismatch(field, fmt::format(text, std::forward<Args>(args)...));
  }
}

inline const Dims& dims(const LayerSpec& spec, std::size_t index) {
  return spec.inputs[index]->dims;
}

/// Reads an axis, which must be below `rank`.
std::size_t read_axis(const LayerSpec& spec, const char* name, std::size_t rank);
/// Reads a list of `size` numbers from `least` to 2^40.
const Dims& read_list(const LayerSpec& spec,
                      const char* name,
                      std::size_t size,
                      std::int64_t least);
/// Broadcasts two shapes as numpy does.
Dims broadcast(const Dims& a, const Dims& b);
void require_broadcast_to(const TensorType& operand, const Dims& dims);
/// Returns the number of a variadic operator's own operands. Those at the end that the epilogue
/// reads do not count.
std::size_t own_operands(const LayerSpec& spec);

// One rule for each operator family: the shape of the first output, or Mismatch.
Dims conv_dims(const LayerSpec& spec);
Dims conv_transpose_dims(const LayerSpec& spec);
Dims gemm_dims(const LayerSpec& spec);
Dims matmul_dims(const LayerSpec& spec);
Dims like_input(const LayerSpec& spec);
Dims batch_norm_dims(const LayerSpec& spec);
Dims axis_norm_dims(const LayerSpec& spec);
Dims channel_norm_dims(const LayerSpec& spec);
Dims lrn_dims(const LayerSpec& spec);
Dims softmax_dims(const LayerSpec& spec);
Dims pool_dims(const LayerSpec& spec);
Dims binary_dims(const LayerSpec& spec);
Dims prelu_dims(const LayerSpec& spec);
Dims where_dims(const LayerSpec& spec);
Dims sum_dims(const LayerSpec& spec);
Dims concat_dims(const LayerSpec& spec);
Dims split_dims(const LayerSpec& spec);
Dims slice_dims(const LayerSpec& spec);
Dims pad_dims(const LayerSpec& spec);
Dims transpose_dims(const LayerSpec& spec);
Dims view_dims(const LayerSpec& spec);
Dims gather_dims(const LayerSpec& spec);
Dims resize_dims(const LayerSpec& spec);
Dims reduce_dims(const LayerSpec& spec);
Dims arg_reduce_dims(const LayerSpec& spec);
Dims expand_dims(const LayerSpec& spec);
Dims tile_dims(const LayerSpec& spec);
Dims block_dims(const LayerSpec& spec);
Dims recurrent_dims(const LayerSpec& spec);
Dims attention_dims(const LayerSpec& spec);
Dims matmul_integer_dims(const LayerSpec& spec);
Dims conv_integer_dims(const LayerSpec& spec);
Dims quantize_dims(const LayerSpec& spec);
Dims dequantize_dims(const LayerSpec& spec);
// training_layers.cpp
Dims conv_gradient_dims(const LayerSpec& spec);
Dims pool_gradient_dims(const LayerSpec& spec);
Dims gather_gradient_dims(const LayerSpec& spec);
Dims gemm_bias_gradient_dims(const LayerSpec& spec);
Dims eltwise_gradient_dims(const LayerSpec& spec);
Dims softmax_gradient_dims(const LayerSpec& spec);
Dims attention_gradient_dims(const LayerSpec& spec);
Dims batch_norm_training_dims(const LayerSpec& spec);
Dims batch_norm_gradient_dims(const LayerSpec& spec);
Dims layer_norm_gradient_dims(const LayerSpec& spec);
Dims update_dims(const LayerSpec& spec);
Dims loss_scale_dims(const LayerSpec& spec);

}  // namespace plumb::model::shape_rules
