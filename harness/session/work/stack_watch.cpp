// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/stack_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/digest.hpp"
#include "harness/stacks/stack_probe.hpp"

namespace plumb::session {

namespace fs = std::filesystem;

void StackWatch::look(int pid) {
  for (const stacks::MappedLibrary& library : stacks::mapped_libraries(pid, stack_)) {
    if (!library.of_stack) {
      continue;
    }
    std::error_code gone;
    if (library.deleted || !fs::is_regular_file(library.path, gone)) {
      faults_.push_back(
          fmt::format("'{}' was removed or replaced while it was in use", library.path.string()));
      continue;
    }
    const auto [known, fresh] = by_library_.emplace(library.name, library.path);
    if (!fresh && known->second != library.path) {
      faults_.push_back(fmt::format("a mixture: workers mapped '{}' and '{}'",
                                    known->second.string(),
                                    library.path.string()));
    }
    if (digests_.count(library.path) == 0) {
      digests_[library.path] = sha256_of_file(library.path);
    }
  }
}

std::vector<std::string> StackWatch::faults() const {
  std::vector<std::string> result = faults_;
  for (const auto& [path, digest] : digests_) {
    std::error_code gone;
    if (!fs::is_regular_file(path, gone)) {
      result.push_back(fmt::format("'{}' was removed while the run used it", path.string()));
    } else if (const std::string now = sha256_of_file(path); now != digest) {
      result.push_back(fmt::format(
          "'{}' changed while the run used it: SHA-256 {} and now {}", path.string(), digest, now));
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace plumb::session
