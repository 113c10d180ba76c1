// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumb::engine {

/// Returns the file that the code at `address` is mapped from, by /proc/self/maps. Empty if there
/// is none.
[[nodiscard]] std::filesystem::path mapped_file(const void* address);

/// Returns the ELF build-id of the module at `address`, as hex digits. Empty if it has none.
[[nodiscard]] std::string build_id(const void* address);

/// Program or shared library that is loaded into this process.
struct LoadedModule {
  std::filesystem::path path;  ///< links resolved; empty: the program itself
  std::string build_id;        ///< ELF build-id as hex digits; empty: it has none
};

/// Lists the modules of this process in the order of loading.
[[nodiscard]] std::vector<LoadedModule> loaded_modules();

}  // namespace plumb::engine
