// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace plumb {

/// Returns the SHA-256 of `content` as 64 lower-case hex digits.
[[nodiscard]] std::string sha256(std::string_view content);

/// Returns the SHA-256 of a file, which is read in pieces. Throws Error{kEnvironment} if it cannot
/// be read.
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace plumb
