// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace plumb::onednn {

/// Function that combines `count` pairs into `result`, which may be `a` itself. Comparisons give 0
/// or 1.
template <typename Number>
using BinaryFunction =
    void (*)(const Number* a, const Number* b, Number* result, std::size_t count);

/// Returns a binary function of docs/reference/layer-keys.md; null if there is none. Integer
/// arithmetic wraps around, and division by zero gives 0. Number is float, double or std::int64_t.
template <typename Number>
[[nodiscard]] BinaryFunction<Number> binary_function(std::string_view fn);

}  // namespace plumb::onednn
