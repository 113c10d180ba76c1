// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/constant_arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

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

namespace {

double apply_real(std::string_view op, double a, double b) {
  if (op == "Add") {
    return a + b;
  }
  if (op == "Sub") {
    return a - b;
  }
  if (op == "Mul") {
    return a * b;
  }
  if (op == "Div") {
    return a / b;
  }
  if (op == "Min") {
    return std::min(a, b);
  }
  if (op == "Max") {
    return std::max(a, b);
  }
  if (op == "Pow") {
    return std::pow(a, b);
  }
  if (op == "Equal") {
    return a == b ? 1.0 : 0.0;
  }
  if (op == "Greater") {
    return a > b ? 1.0 : 0.0;
  }
  if (op == "Less") {
    return a < b ? 1.0 : 0.0;
  }
  if (op == "GreaterOrEqual") {
    return a >= b ? 1.0 : 0.0;
  }
  if (op == "LessOrEqual") {
    return a <= b ? 1.0 : 0.0;
  }
  throw Unsupported(fmt::format("{} of constants", op));
}

/// Returns the extents of an operand, with one in place of each reduced axis.
Integers reduced_dims(const NodeView& node) {
  Integers dims = node.dims(0);
  const Integers axes =
      node.has_input(1) ? node.known_integers(1) : node.integers("axes").value_or(Integers{});
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0) {
    std::fill(dims.begin(), dims.end(), 1);
  }
  for (const std::int64_t axis : axes) {
    dims[static_cast<std::size_t>(NodeView::positive_axis(axis, dims.size()))] = 1;
  }
  return dims;
}

}  // namespace

std::int64_t apply_integer(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "Add" && !__builtin_add_overflow(a, b, &result)) {
    return result;
  }
  if (op == "Sub" && !__builtin_sub_overflow(a, b, &result)) {
    return result;
  }
  if (op == "Mul" && !__builtin_mul_overflow(a, b, &result)) {
    return result;
  }
  if (op == "Div" || op == "Mod") {
    if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) {
      throw Unsupported(fmt::format("{} / {}", a, b));
    }
    if (op == "Div") {
      return a / b;
    }
    return (a % b != 0 && ((a < 0) != (b < 0))) ? a % b + b : a % b;
  }
  if (op == "Min") {
    return std::min(a, b);
  }
  if (op == "Max") {
    return std::max(a, b);
  }
  if (op == "Equal") {
    return a == b ? 1 : 0;
  }
  if (op == "Greater") {
    return a > b ? 1 : 0;
  }
  if (op == "Less") {
    return a < b ? 1 : 0;
  }
  if (op == "GreaterOrEqual") {
    return a >= b ? 1 : 0;
  }
  if (op == "LessOrEqual") {
    return a <= b ? 1 : 0;
  }
  if (op == "And") {
    return (a != 0 && b != 0) ? 1 : 0;
  }
  if (op == "Or") {
    return (a != 0 || b != 0) ? 1 : 0;
  }
  throw Unsupported(fmt::format("{} of {} and {}", op, a, b));
}

ConstantValue binary(const NodeView& node) {
  if (node.input_count() != 2) {
    throw Unsupported("not two operands");
  }
  ConstantValue result = empty_result(node);
  const ConstantValue& a = node.known(0);
  const ConstantValue& b = node.known(1);
  const std::size_t size = count(result);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t left = broadcast_index(i, result.dims, a.dims);
    const std::size_t right = broadcast_index(i, result.dims, b.dims);
    if (a.is_real() || b.is_real()) {
      const double number = apply_real(node.op(), a.number(left), b.number(right));
      if (result.is_real()) {
        result.reals.push_back(result.dtype == DataType::kF32
                                   ? static_cast<double>(static_cast<float>(number))
                                   : number);
      } else {
        result.integers.push_back(number != 0.0 ? 1 : 0);
      }
    } else {
      result.integers.push_back(apply_integer(node.op(), a.integers[left], b.integers[right]));
    }
  }
  return result;
}

ConstantValue unary(const NodeView& node) {
  ConstantValue result = copy_elements(node);
  const std::string& op = node.op();
  for (double& x : result.reals) {
    x = op == "Floor"   ? std::floor(x)
        : op == "Ceil"  ? std::ceil(x)
        : op == "Round" ? std::nearbyint(x)
        : op == "Neg"   ? -x
        : op == "Abs"   ? std::abs(x)
        : op == "Sqrt"  ? std::sqrt(x)
                        : 1.0 / x;
    if (result.dtype == DataType::kF32) {
      x = static_cast<double>(static_cast<float>(x));
    }
  }
  for (std::int64_t& x : result.integers) {
    if (op == "Not") {
      x = x == 0 ? 1 : 0;
    } else if (op == "Neg" || (op == "Abs" && x < 0)) {
      x = apply_integer("Sub", 0, x);
    }
  }
  return result;
}

ConstantValue where(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& condition = node.known(0);
  const std::size_t size = count(result);
  for (std::size_t i = 0; i < size; ++i) {
    const bool first = condition.number(broadcast_index(i, result.dims, condition.dims)) != 0.0;
    const ConstantValue& from = node.known(first ? 1 : 2);
    append(result, from, broadcast_index(i, result.dims, from.dims));
  }
  return result;
}

ConstantValue reduce(const NodeView& node) {
  ConstantValue result = empty_result(node);
  const ConstantValue& from = node.known(0);
  const Integers kept = reduced_dims(node);
  const std::size_t size = count(result);
  if (from.size() == 0 || result.is_real() != from.is_real()) {
    throw Unsupported("a reduction without elements");
  }
  const std::string_view op = node.op() == "ReduceProd"  ? "Mul"
                              : node.op() == "ReduceSum" ? "Add"
                              : node.op() == "ReduceMax" ? "Max"
                                                         : "Min";
  if (result.is_real()) {
    result.reals.resize(size);
  } else {
    result.integers.resize(size);
  }
  std::vector<bool> begun(size);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t at = broadcast_index(i, from.dims, kept);
    if (at >= size) {
      throw Unsupported("a reduction that does not fit its shape");
    }
    if (result.is_real()) {
      result.reals[at] =
          begun[at] ? apply_real(op, result.reals[at], from.reals[i]) : from.reals[i];
    } else {
      result.integers[at] =
          begun[at] ? apply_integer(op, result.integers[at], from.integers[i]) : from.integers[i];
    }
    begun[at] = true;
  }
  return result;
}

}  // namespace plumb::model
