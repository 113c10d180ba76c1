// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace plumb::onednn {

/// Function that changes `count` numbers in place. `parameters` are the key's.
template <typename Number>
using UnaryFunction = void (*)(Number* numbers, std::size_t count, const double* parameters);

/// Returns an element-wise function of docs/reference/layer-keys.md, or null if Number has none.
/// Number is float, double or std::int64_t. Integers have relu, clip, abs, neg, sign, not, is_nan
/// and the roundings.
template <typename Number>
[[nodiscard]] UnaryFunction<Number> unary_function(std::string_view fn);

}  // namespace plumb::onednn
