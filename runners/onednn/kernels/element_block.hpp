// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/model/tensor.hpp"

namespace plumb::onednn {

/// Names the type that our own kernels calculate in for elements of a type: integers as s64, f64 as
/// f64, the rest as f32.
[[nodiscard]] DataType calculation_type(DataType type);

/// Converts `count` elements of `type` to numbers. Number is float, double or std::int64_t.
/// Throws Unsupported for a type that is not a number here (f8, string).
template <typename Number>
void load(DataType type, const std::byte* source, std::size_t count, Number* destination);

/// Converts numbers to elements: floating types round to nearest even; integers drop the fraction,
/// wrap around, and take NaN as 0; bool is whether the number differs from 0.
template <typename Number>
void store(DataType type, const Number* source, std::size_t count, std::byte* destination);

/// Throws Unsupported unless load and store know the type.
void check_number(DataType type);

}  // namespace plumb::onednn
