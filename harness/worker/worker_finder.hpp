// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumb {

/// Finds the executable `plumb-worker-BACKEND`: in `search_path`, then the folders of
/// PLUMB_WORKER_PATH (separated by
/// ':'), then `libexec/plumb` beside this program or above it (as installed, and as in a build
/// tree). Throws Error{kEnvironment} naming where it looked and what to build or install.
[[nodiscard]] std::filesystem::path find_worker(
    const std::string& backend, const std::vector<std::filesystem::path>& search_path);

/// Lists the backends whose workers are found in the same places, sorted.
[[nodiscard]] std::vector<std::string> worker_backends(
    const std::vector<std::filesystem::path>& search_path);

}  // namespace plumb
