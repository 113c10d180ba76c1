// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/model/onnx/values/constant_value.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Computes an operator ("Add", "Mod", "Less"…) on two integers. Throws Unsupported for another
/// operator, overflow and division by zero.
[[nodiscard]] std::int64_t apply_integer(std::string_view op, std::int64_t a, std::int64_t b);

/// Computes a node of two known operands, with broadcasting: arithmetic, comparison, logic. This
/// and the functions below throw Unsupported for what they do not compute, and for overflow.
[[nodiscard]] ConstantValue binary(const NodeView& node);
/// Computes a node of one known operand, element by element.
[[nodiscard]] ConstantValue unary(const NodeView& node);
/// Chooses between two known operands, with broadcasting.
[[nodiscard]] ConstantValue where(const NodeView& node);
/// Computes a sum, product, maximum or minimum along axes of a known operand.
[[nodiscard]] ConstantValue reduce(const NodeView& node);

}  // namespace plumb::model
