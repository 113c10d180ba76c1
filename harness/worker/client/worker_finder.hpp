// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumb::worker {

/// Finds the executable `plumb-worker-BACKEND`. The first of these folders that has it counts:
/// - `search_path`, in order;
/// - the folders of PLUMB_WORKER_PATH, separated by ':';
/// - `libexec/plumb` beside this program or above it, as installed and as in a build tree.
///
/// Throws Error{kEnvironment} that names these folders and what to build or install.
[[nodiscard]] std::filesystem::path find_worker(
    const std::string& backend, const std::vector<std::filesystem::path>& search_path);

/// Lists the backends whose workers find_worker() would find, sorted.
[[nodiscard]] std::vector<std::string> worker_backends(
    const std::vector<std::filesystem::path>& search_path);

}  // namespace plumb::worker
