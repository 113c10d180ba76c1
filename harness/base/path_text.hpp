// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace plumb {

/// Writes a path as UTF-8, which JSON and protobuf need and a file name need not be. A byte that is
/// no part of UTF-8 becomes one character of Unicode's private use area: U+F700 and the byte. So
/// do the bytes of such characters themselves, so that path_from_text() finds every path again.
[[nodiscard]] std::string path_text(const std::filesystem::path& path);

/// Reads what path_text() wrote.
[[nodiscard]] std::filesystem::path path_from_text(std::string_view text);

}  // namespace plumb
