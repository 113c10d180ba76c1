// SPDX-License-Identifier: Apache-2.0
#include "harness/base/hash64.hpp"

#define XXH_INLINE_ALL  // nothing to link
#include <xxhash.h>

namespace plumb {

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

}  // namespace plumb
