// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <limits>

namespace plumb {

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
