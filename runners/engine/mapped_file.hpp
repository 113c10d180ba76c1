// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumb {

/// Returns the file that holds the code at `address`, from /proc/self/maps; empty if there is none.
[[nodiscard]] std::filesystem::path mapped_file(const void* address);

/// Returns the ELF build-id of the module that holds `address` as hex digits; empty if it has none.
[[nodiscard]] std::string build_id(const void* address);

/// Program or shared library that this process has loaded.
struct LoadedModule {
  std::filesystem::path path;  ///< links resolved; empty: the program itself
  std::string build_id;        ///< ELF build-id as hex digits; empty: it has none
};

/// Lists what this process has loaded, in the order of loading.
[[nodiscard]] std::vector<LoadedModule> loaded_modules();

}  // namespace plumb
