// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/constant_elements.hpp"

#include <cmath>

namespace plumb::model {

ConstantValue empty_result(const NodeView& node) {
  const TensorType& type = node.output_type(0);
  ConstantValue result;
  result.dtype = type.dtype;
  result.dims = type.dims;
  return result;
}

std::size_t count(const ConstantValue& value) {
  return static_cast<std::size_t>(
      element_count({.dtype = value.dtype, .dims = value.dims, .constant = true, .strides = {}}));
}

void append(ConstantValue& to, const ConstantValue& from, std::size_t index) {
  if (index >= from.size()) {
    throw Unsupported("an element beyond the end");
  }
  if (to.is_real()) {
    to.reals.push_back(from.number(index));
  } else if (from.is_real()) {
    const double number = from.reals[index];
    if (!(std::abs(number) < 0x1p62)) {
      throw Unsupported("a number does not fit in 64 bits");
    }
    to.integers.push_back(static_cast<std::int64_t>(number));
  } else {
    to.integers.push_back(from.integers[index]);
  }
}

std::size_t broadcast_index(std::size_t flat, const Integers& dims, const Integers& from) {
  std::size_t index = 0;
  std::size_t stride = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto extent = static_cast<std::size_t>(dims[dims.size() - 1 - i]);
    const std::size_t position = flat % extent;
    flat /= extent;
    if (i < from.size()) {
      const auto own = static_cast<std::size_t>(from[from.size() - 1 - i]);
      index += own == 1 ? 0 : position * stride;
      stride *= own;
    }
  }
  return index;
}

ConstantValue copy_elements(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& from = node.known(0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    append(result, from, i);
  }
  return result;
}

}  // namespace plumb::model
