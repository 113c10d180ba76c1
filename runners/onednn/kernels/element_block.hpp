// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/model/key/tensor.hpp"

namespace plumb::onednn {

/// Returns the type in which built-in kernels calculate: s64 for integers, f64 for f64, f32
/// otherwise.
[[nodiscard]] model::DataType calculation_type(model::DataType type);

/// Converts `count` elements of `type` to numbers. Number is float, double or std::int64_t. Throws
/// Unsupported for f8 and string.
template <typename Number>
void load(model::DataType type, const std::byte* source, std::size_t count, Number* destination);

/// Converts numbers to elements of `type`. Floating types round to the nearest, ties to even.
/// Integers drop the fraction, wrap around, and take NaN as 0. A bool says whether the number
/// differs from 0.
template <typename Number>
void store(model::DataType type, const Number* source, std::size_t count, std::byte* destination);

/// Throws Unsupported unless load() and store() know the type.
void check_number(model::DataType type);

}  // namespace plumb::onednn
