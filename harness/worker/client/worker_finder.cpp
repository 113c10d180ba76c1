// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_finder.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/worker/protocol/path_list.hpp"

namespace plumb::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "plumb-worker-";
// A unit test lies at BUILD/tests/unit/NAME: three folders below where libexec is.
constexpr int kLevelsUp = 4;

/// Adds a folder, unless it is there already under another name.
void add_folder(const fs::path& folder, std::vector<fs::path>& folders) {
  const bool known = std::any_of(folders.begin(), folders.end(), [&](const fs::path& other) {
    std::error_code error;
    return other == folder || (fs::equivalent(other, folder, error) && !error);
  });
  if (!known) {
    folders.push_back(folder);
  }
}

std::vector<fs::path> folders(const std::vector<fs::path>& search_path) {
  std::vector<fs::path> result;
  for (const fs::path& folder : search_path) {
    add_folder(folder, result);
  }
  if (const char* path = std::getenv("PLUMB_WORKER_PATH")) {
    for (const fs::path& folder : split_paths(path)) {
      add_folder(folder, result);
    }
  }
  std::error_code error;
  fs::path above = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int level = 0; level < kLevelsUp && !error && above.has_relative_path(); ++level) {
    if (const fs::path folder = above / "libexec" / "plumb"; fs::is_directory(folder, error)) {
      add_folder(folder, result);
    }
    error.clear();
    above = above.parent_path();
  }
  return result;
}

bool is_executable(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

fs::path find_worker(const std::string& backend, const std::vector<fs::path>& search_path) {
  const std::string name = std::string(kPrefix) + backend;
  const std::vector<fs::path> places = folders(search_path);
  for (const fs::path& folder : places) {
    if (const fs::path candidate = folder / name; is_executable(candidate)) {
      return fs::absolute(candidate);
    }
  }
  std::vector<std::string> texts;
  texts.reserve(places.size());
  for (const fs::path& folder : places) {
    texts.push_back(fmt::format("'{}'", folder.string()));
  }
  throw Error(
      Error::Kind::kEnvironment,
      fmt::format(
          "there is no {} in {}; build or install the worker of backend '{}', or name its folder "
          "with PLUMB_WORKER_PATH",
          name,
          texts.empty() ? "any known folder" : fmt::format("{}", fmt::join(texts, ", ")),
          backend));
}

std::vector<std::string> worker_backends(const std::vector<fs::path>& search_path) {
  std::set<std::string> backends;
  for (const fs::path& folder : folders(search_path)) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
          is_executable(entry->path())) {
        backends.insert(name.substr(kPrefix.size()));
      }
    }
  }
  return {backends.begin(), backends.end()};
}

}  // namespace plumb::worker
