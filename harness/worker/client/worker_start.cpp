// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/results/run.hpp"
#include "harness/worker/client/worker_process.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {
namespace {

constexpr std::array<std::string_view, 11> kTuning{"OMP_",
                                                   "GOMP_",
                                                   "KMP_",
                                                   "MKL_",
                                                   "ONEDNN_",
                                                   "DNNL_",
                                                   "CUDNN_",
                                                   "CUBLAS_",
                                                   "CUBLASLT_",
                                                   "NVIDIA_TF32_OVERRIDE",
                                                   "PLUMB_WORKER_"};

bool tunes_a_library(std::string_view name) {
  // PLUMB_WORKER_PATH is a setting of the harness, not of a library. A worker may start workers in
  // tests.
  return name != "PLUMB_WORKER_PATH" &&
         std::any_of(kTuning.begin(), kTuning.end(), [&](std::string_view prefix) {
           return name.starts_with(prefix);
         });
}

std::map<std::string, std::string> inherited(const char* const* surroundings) {
  std::map<std::string, std::string> variables;
  for (; surroundings != nullptr && *surroundings != nullptr; ++surroundings) {
    const std::string_view entry = *surroundings;
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && !tunes_a_library(entry.substr(0, equals))) {
      variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  return variables;
}

}  // namespace

std::vector<std::string> worker_environment(const Stack& stack,
                                            int threads,
                                            int channel,
                                            const char* const* surroundings) {
  std::map<std::string, std::string> variables = inherited(surroundings);
  variables.merge(thread_variables(threads));
  if (const std::string folders = join_paths(stack.folders); !folders.empty()) {
    std::string& path = variables["LD_LIBRARY_PATH"];
    path = path.empty() ? folders : folders + ":" + path;
  }
  for (const auto& [name, value] : stack.variables) {
    variables[name] = value;
  }
  variables[kChannelVariable] = std::to_string(channel);

  std::vector<std::string> entries;
  entries.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    entries.push_back(fmt::format("{}={}", name, value));
  }
  return entries;
}

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

results::Facts started_facts(const WorkerProcess::Options& options,
                             const char* const* surroundings) {
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
