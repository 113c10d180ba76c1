// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "harness/worker/backend.hpp"

namespace plumb::onednn {

/// Loads the stack's libraries by path, in order, into the process's global scope, then our module,
/// whose undefined oneDNN symbols they satisfy: one binary runs with every 3.x whatever its soname.
/// Nothing is unloaded again. Throws Error{kEnvironment} if a file is missing, cannot be loaded or
/// is no oneDNN 3.x, saying how to get one.
[[nodiscard]] std::unique_ptr<Backend> load_backend(
    const std::vector<std::filesystem::path>& libraries, const std::filesystem::path& module);

/// Returns where the module lies: beside this executable.
[[nodiscard]] std::filesystem::path default_module();

}  // namespace plumb::onednn
