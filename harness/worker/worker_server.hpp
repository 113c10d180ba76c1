// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "harness/worker/worker_service.hpp"

namespace plumb {

/// Says what `plumb` told a worker when it started it.
struct WorkerSetup {
  std::vector<std::filesystem::path> libraries;  ///< of the stack: to load by path, in order
  int threads = 1;
};

/// Loads the libraries and makes the service. May throw Error: the harness is told, word for word.
using MakeService = std::function<std::unique_ptr<WorkerService>(const WorkerSetup&)>;

/// Is the whole of a worker's main(): answers requests over the channel that `plumb` left open,
/// until `plumb` closes it. Returns the exit status.
///
/// What a service throws becomes an error reply; in `measure`, anything but an Error of the user's
/// or the environment's becomes rows that say why (out of memory, failed), one for each cache mode
/// that has none yet. Prints
/// nothing on stdout meanwhile: that is a log. Started by hand it explains itself; `--describe`
/// prints the environment, `--help` how to use it.
int run_worker(std::string_view backend,
               const MakeService& make_service,
               int argc,
               const char* const* argv);

}  // namespace plumb
