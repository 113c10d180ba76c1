// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/started_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/results/environment.hpp"
#include "harness/worker/client/worker_finder.hpp"

namespace plumb::worker {
namespace {

// The folder of compiled kernels is not a setting of a library.
constexpr std::string_view kKernelFolder = "CUDA_CACHE_PATH";
constexpr std::array<std::string_view, 4> kInherited{
    "LD_PRELOAD=", "GLIBC_TUNABLES=", "MALLOC_", "PLUMB_TEST_"};

std::string joined(std::vector<std::string> entries) {
  std::sort(entries.begin(), entries.end());
  return fmt::format("{}", fmt::join(entries, "; "));
}

/// Returns a value, or if it names a file, the digest of the file. What identifies a file is its
/// content.
std::string read_content(const std::string& value) {
  std::error_code none;
  const std::filesystem::path path = value;
  return path.is_absolute() && std::filesystem::is_regular_file(path, none)
             ? "sha256:" + sha256_of_file(value)
             : value;
}

bool starts_with_any(std::string_view entry) {
  return std::any_of(kInherited.begin(), kInherited.end(), [&](std::string_view prefix) {
    return entry.starts_with(prefix);
  });
}

}  // namespace

results::Facts stack_identity(const Stack& stack) {
  results::Facts identity;
  for (const auto& [name, value] : stack.variables) {
    if (results::is_variable(name) && !name.ends_with("PATH") && !name.starts_with("PLUMB_")) {
      identity.emplace(name, read_content(value));
    }
  }
  return identity;
}

results::Facts started_facts(const WorkerOptions& options, const char* const* surroundings) {
  std::vector<std::string> of_stack;
  for (const auto& [name, value] : options.stack.variables) {
    if (name != kKernelFolder) {
      of_stack.push_back(fmt::format("{}={}", name, read_content(value)));
    }
  }
  std::vector<std::string> names_and_values;
  for (; surroundings != nullptr && *surroundings != nullptr; ++surroundings) {
    if (starts_with_any(*surroundings)) {
      names_and_values.emplace_back(*surroundings);
    }
  }
  return {{kWorkerDigest, sha256_of_file(find_worker(options.stack.backend, options.search_path))},
          {"stack.variables", joined(std::move(of_stack))},
          {"worker.variables", joined(std::move(names_and_values))}};
}

}  // namespace plumb::worker
