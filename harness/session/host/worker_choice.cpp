// SPDX-License-Identifier: Apache-2.0
#include "harness/session/host/worker_choice.hpp"

#include <filesystem>
#include <optional>

#include "harness/session/host/user_paths.hpp"
#include "harness/worker/protocol/stack.hpp"

namespace plumb::session {

worker::WorkerOptions worker_options(const WorkerChoice& choice) {
  worker::WorkerOptions options;
  const bool by_name = choice.stack != "default" && !worker::names_folder(choice.stack);
  const std::optional<std::filesystem::path> data = by_name ? data_folder() : known_data_folder();
  options.stack = worker::load_stack(choice.stack, data.value_or("") / "stacks");
  options.setup.threads = choice.threads;
  options.setup.device = choice.device;
  if (data) {
    // Each stack has a cache of its own: one version must not find what another has compiled.
    options.stack.variables.try_emplace(
        "CUDA_CACHE_PATH", (*data / "kernels" / worker::file_name_of(options.stack.name)).string());
  }
  options.search_path = {executable_folder().parent_path() / "libexec/plumb"};
  return options;
}

}  // namespace plumb::session
