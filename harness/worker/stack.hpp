// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace plumb {

/// Describes one set of library versions a worker is started with (`stack.toml`).
struct Stack {
  std::string name = "default";
  std::string backend = "onednn";
  std::vector<std::filesystem::path> libraries;   ///< files to load by path, in order (onednn: libdnnl.so.3)
  std::vector<std::filesystem::path> folders;     ///< added to the worker's library path
  std::map<std::string, std::string> variables;   ///< environment, e.g. ONEDNN_MAX_CPU_ISA=AVX2
};

/// Loads a stack by name: `default` is what the build found; else `stacks_folder/NAME/stack.toml`.
/// Throws Error{kUser} naming the stacks there are, or the line of the file that is wrong.
[[nodiscard]] Stack load_stack(const std::string& name, const std::filesystem::path& stacks_folder);

}  // namespace plumb
