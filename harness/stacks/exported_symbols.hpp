// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumb::stacks {

/// Lists the symbols that a 64-bit ELF library exports, sorted, each once, without versions. These
/// are defined symbols with global or weak binding. Throws Error{kUser} for a file that is not such
/// a library or is damaged.
[[nodiscard]] std::vector<std::string> exported_symbols(const std::filesystem::path& library);

}  // namespace plumb::stacks
