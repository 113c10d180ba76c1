// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::worker {

/// Splits a list of paths at ':', as in PATH. Empty entries are left out.
[[nodiscard]] std::vector<std::filesystem::path> split_paths(std::string_view text);

/// Joins paths with ':'. Throws Error{kUser} for a path that contains one, since no environment
/// variable can carry it.
[[nodiscard]] std::string join_paths(const std::vector<std::filesystem::path>& paths);

}  // namespace plumb::worker
