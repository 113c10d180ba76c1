// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plumb {

/// Returns XXH64 of the bytes (Y. Collet's xxHash, 64 bits). It handles several bytes a cycle. The
/// result is the same on every little-endian machine and in every version. It tells contents apart
/// and is no use for security.
[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace plumb
