// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumb {

/// Lists the functions and objects that a 64-bit ELF library exports, sorted, each once, without
/// their versions. Throws Error{kUser} for a file that is none, or a damaged one.
[[nodiscard]] std::vector<std::string> exported_symbols(const std::filesystem::path& library);

}  // namespace plumb
