// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/kernels/binary_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace plumb::onednn {
namespace {

template <typename Number>
struct Row {
  std::string_view fn;
  BinaryFunction<Number> function;
};

template <typename Number, typename Function>
void map(const Number* a, const Number* b, Number* result, std::size_t count, Function function) {
  for (std::size_t index = 0; index < count; ++index) {
    result[index] = function(a[index], b[index]);
  }
}

std::int64_t wrapped(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

template <typename N>
N add(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename N>
N subtract(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return wrapped(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  } else {
    return a - b;
  }
}

template <typename N>
N multiply(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename N>
N divide(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return b == 0 ? 0 : (b == -1 ? subtract<N>(0, a) : a / b);
  } else {
    return a / b;
  }
}

/// Returns the remainder with the sign of the dividend, as in C.
template <typename N>
N remainder(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    return b == 0 || b == -1 ? 0 : a % b;
  } else {
    return std::fmod(a, b);
  }
}

/// Returns the remainder with the sign of the divisor (ONNX Mod, as in Python).
template <typename N>
N modulo(N a, N b) {
  const N rest = remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <typename N>
N power(N a, N b) {
  if constexpr (std::is_integral_v<N>) {
    const double result = std::pow(static_cast<double>(a), static_cast<double>(b));
    return std::abs(result) < 9.2e18 ? static_cast<N>(result) : 0;
  } else {
    return std::pow(a, b);
  }
}

#define PLUMB_BINARY(expression)                                                   \
  [](const N* first, const N* second, N* result, std::size_t count) {              \
    map(first, second, result, count, [](N a, N b) -> N { return (expression); }); \
  }

template <typename N>
constexpr std::array<Row<N>, 17> kRows{{
    {"add", PLUMB_BINARY(add(a, b))},
    {"sub", PLUMB_BINARY(subtract(a, b))},
    {"mul", PLUMB_BINARY(multiply(a, b))},
    {"div", PLUMB_BINARY(divide(a, b))},
    {"max", PLUMB_BINARY(std::max(a, b))},
    {"min", PLUMB_BINARY(std::min(a, b))},
    {"pow", PLUMB_BINARY(power(a, b))},
    {"mod", PLUMB_BINARY(modulo(a, b))},
    {"fmod", PLUMB_BINARY(remainder(a, b))},
    {"equal", PLUMB_BINARY(a == b ? 1 : 0)},
    {"greater", PLUMB_BINARY(a > b ? 1 : 0)},
    {"less", PLUMB_BINARY(a < b ? 1 : 0)},
    {"greater_equal", PLUMB_BINARY(a >= b ? 1 : 0)},
    {"less_equal", PLUMB_BINARY(a <= b ? 1 : 0)},
    {"and", PLUMB_BINARY(a != 0 && b != 0 ? 1 : 0)},
    {"or", PLUMB_BINARY(a != 0 || b != 0 ? 1 : 0)},
    {"xor", PLUMB_BINARY((a != 0) != (b != 0) ? 1 : 0)},
}};

#undef PLUMB_BINARY

}  // namespace

template <typename Number>
BinaryFunction<Number> binary_function(std::string_view fn) {
  for (const Row<Number>& row : kRows<Number>) {
    if (row.fn == fn) {
      return row.function;
    }
  }
  return nullptr;
}

template BinaryFunction<float> binary_function<float>(std::string_view);
template BinaryFunction<double> binary_function<double>(std::string_view);
template BinaryFunction<std::int64_t> binary_function<std::int64_t>(std::string_view);

}  // namespace plumb::onednn
