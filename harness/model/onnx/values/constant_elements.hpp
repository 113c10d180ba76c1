// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace plumb::model
