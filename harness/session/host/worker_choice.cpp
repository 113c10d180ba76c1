// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/worker_choice.hpp"

#include <filesystem>
#include <optional>

#include "harness/session/host/user_paths.hpp"
#include "harness/worker/protocol/stack.hpp"

namespace plumb::session {

worker::WorkerOptions worker_options(const std::string& stack,
                                     int threads,
                                     const std::string& device) {
  worker::WorkerOptions options;
  const bool by_name = stack != "default" && !worker::names_folder(stack);
  const std::optional<std::filesystem::path> data = by_name ? data_folder() : known_data_folder();
  options.stack = worker::load_stack(stack, data.value_or("") / "stacks");
  options.threads = threads;
  options.device = device;
  if (data) {
    // Each stack has a cache of its own: one version must not find what another has compiled.
    options.stack.variables.try_emplace(
        "CUDA_CACHE_PATH", (*data / "kernels" / worker::file_name_of(options.stack.name)).string());
  }
  options.search_path = {executable_folder().parent_path() / "libexec/plumb"};
  return options;
}

}  // namespace plumb::session
