// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/path_list.hpp"

#include <fmt/core.h>

#include "harness/base/error.hpp"

namespace plumb::worker {

std::vector<std::filesystem::path> split_paths(std::string_view text) {
  std::vector<std::filesystem::path> paths;
  while (!text.empty()) {
    const std::size_t end = text.find(':');
    const std::string_view entry = text.substr(0, end);
    if (!entry.empty()) {
      paths.emplace_back(entry);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return paths;
}

std::string join_paths(const std::vector<std::filesystem::path>& paths) {
  std::string text;
  for (const std::filesystem::path& path : paths) {
    if (path.native().find(':') != std::string::npos) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("the path '{}' has a ':' in it, which separates paths; rename the folder",
                      path.native()));
    }
    text += text.empty() ? "" : ":";
    text += path.native();
  }
  return text;
}

}  // namespace plumb::worker
