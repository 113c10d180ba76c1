// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>

namespace plumb {

/// Duration in seconds, for all times inside the program. At the edges names end in `_seconds`.
using Seconds = std::chrono::duration<double>;

/// Number with its unit as a type, so that bytes cannot be added to operations.
template <typename Tag, typename Number>
struct Quantity {
  Number value{};

  auto operator<=>(const Quantity&) const = default;
  Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  friend Quantity operator+(Quantity left, Quantity right) { return left += right; }
  friend Quantity operator*(Quantity left, Number factor) { return {left.value * factor}; }
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;  ///< floating-point operations, a count
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

inline Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return Seconds(static_cast<double>(amount.value) / rate.value);
}
inline Seconds operator/(Flops amount, FlopsPerSecond rate) {
  return Seconds(amount.value / rate.value);
}

/// Adds two integers. A sum beyond the type is its largest or smallest value, never a wrapped one.
template <std::signed_integral Number>
[[nodiscard]] constexpr Number saturating_sum(Number left, Number right) {
  Number sum{};
  if (__builtin_add_overflow(left, right, &sum)) {
    return left < 0 ? std::numeric_limits<Number>::min() : std::numeric_limits<Number>::max();
  }
  return sum;
}

}  // namespace plumb
