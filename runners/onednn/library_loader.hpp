// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "harness/worker/protocol/backend.hpp"

namespace plumb::onednn {

/// Loads the stack's libraries by path, in order, into the global scope, and then the module.
///
/// The libraries resolve the module's undefined oneDNN symbols, so that one binary runs with every
/// 3.x whatever its soname. Nothing is unloaded again. Throws Error{kEnvironment}, with how to get
/// a library, if a file is missing, cannot be loaded or is no oneDNN 3.x.
[[nodiscard]] std::unique_ptr<worker::Backend> load_backend(
    const std::vector<std::filesystem::path>& libraries, const std::filesystem::path& module);

/// Returns the path of the module, which lies beside this executable.
[[nodiscard]] std::filesystem::path default_module();

}  // namespace plumb::onednn
