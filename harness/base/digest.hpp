// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace plumb {

/// Returns XXH64 of the bytes (Y. Collet's xxHash, 64 bits). It handles several bytes a cycle. The
/// result is the same on every little-endian machine and in every version. It tells contents apart
/// and is no use for security.
[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// Returns the SHA-256 of `content` as 64 lower-case hex digits.
[[nodiscard]] std::string sha256(std::string_view content);

/// Returns the SHA-256 of a file, which is read in pieces. Throws Error{kEnvironment} if it cannot
/// be read.
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace plumb
