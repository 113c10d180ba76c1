// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "runners/cuda/own/own_layer.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kZeroPoint = 2;

/// Returns numpy's matrices of an operand: a vector is one row on the left, one column on the
/// right.
Dimensions matrices(const TensorType& type, bool left) {
  Dimensions dims = type.dims;
  if (dims.size() == 1) {
    dims.insert(left ? dims.begin() : dims.end(), 1);
  }
  return dims;
}

bool is_byte(DataType type) {
  return type == DataType::kS8 || type == DataType::kU8;
}

}  // namespace

std::vector<KernelLaunch> multiply_integers(const OwnOperands& operands) {
  const TensorType& a = operands.input(0);
  const TensorType& b = operands.input(1);
  if (!is_byte(a.dtype) || !is_byte(b.dtype) || operands.output().dtype != DataType::kS32) {
    throw Unsupported(fmt::format("integers of {} and {} into {}",
                                  to_text(a.dtype),
                                  to_text(b.dtype),
                                  to_text(operands.output().dtype)));
  }
  Dimensions left = matrices(a, true);
  Dimensions right = matrices(b, false);
  Dimensions result = operands.output().dims;
  if (b.dims.size() == 1) {
    result.push_back(1);
  }
  if (a.dims.size() == 1) {
    result.insert(result.end() - 1, 1);
  }
  Dimensions left_strides = strides_of(left, TensorLayout::kChannelsFirst);
  Dimensions right_strides = strides_of(right, TensorLayout::kChannelsFirst);
  kernels::ProductShape shape{};
  shape.depth = left.back();
  shape.steps[0] = left_strides.back();
  shape.steps[1] = right_strides.end()[-2];
  // Along the axis that is summed over an element of the result has no position.
  left.back() = 1;
  right.end()[-2] = 1;
  shape.space = joined_space(result,
                             {strides_of(result, TensorLayout::kChannelsFirst),
                              broadcast_strides(left, left_strides, result),
                              broadcast_strides(right, right_strides, result)});
  std::vector<std::size_t> buffers{
      operands.output_buffer(), operands.input_buffer(0), operands.input_buffer(1)};
  for (const std::size_t which : {0U, 1U}) {
    const bool given = operands.spec().has_input(kZeroPoint + which);
    if (given && operands.input(kZeroPoint + which).dtype != operands.input(which).dtype) {
      throw Unsupported("a zero point of another type than its operand");
    }
    shape.has_zero[which] = given ? 1 : 0;
    buffers.push_back(operands.input_buffer(given ? kZeroPoint + which : which));
  }
  return {element_launch(
      fmt::format("integer_product<{}, {}>", element_name(a.dtype), element_name(b.dtype)),
      "ProductShape",
      shape,
      shape.space.count,
      std::move(buffers))};
}

}  // namespace plumb::cuda
