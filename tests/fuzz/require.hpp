// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace plumb::test {

/// Ends the fuzzer, which reports its input, unless a condition holds.
inline void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace plumb::test
