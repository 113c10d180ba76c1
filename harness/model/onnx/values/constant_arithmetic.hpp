// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/model/onnx/values/constant_value.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

using Integers = std::vector<std::int64_t>;

/// Returns a value with the type and shape of a node's first output, without elements yet.
[[nodiscard]] ConstantValue empty_result(const NodeView& node);

/// Returns the number of elements of a value's shape.
[[nodiscard]] std::size_t count(const ConstantValue& value);

/// Appends an element of another value, converted to this one's kind. Throws Unsupported for an
/// index beyond the end, or an element that does not fit.
void append(ConstantValue& to, const ConstantValue& from, std::size_t index);

/// Maps a flat index of `dims` to the flat index of the element of `from` that broadcasting reads.
[[nodiscard]] std::size_t broadcast_index(std::size_t flat,
                                          const Integers& dims,
                                          const Integers& from);

/// Returns the elements of a node's first input in the type and shape of its first output.
[[nodiscard]] ConstantValue copy_elements(const NodeView& node);

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

/// Evaluates a node of the default domain with known inputs. It supports the operators that
/// exporters use in shape arithmetic. The output's shape must have been inferred. Empty: another
/// operator, an input is not known, or the result is larger than ConstantValue::kMaxElements.
[[nodiscard]] std::optional<ConstantValue> evaluate(const NodeView& node);

}  // namespace plumb::model
