// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_environment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "harness/worker/protocol/path_list.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

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

}  // namespace plumb::worker
