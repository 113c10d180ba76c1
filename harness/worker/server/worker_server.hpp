// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::worker {

/// Factory that loads the libraries and makes the service. If it throws Error, the harness gets the
/// text word for word.
using MakeService = std::function<std::unique_ptr<WorkerService>(const WorkerService::Setup&)>;

/// Something more that a worker does for somebody who starts it by hand.
struct HandCommand {
  std::string_view option;  ///< among the arguments; also as "OPTION=…"
  std::string_view usage;   ///< lines of `--help`
  /// Takes the program's name and all arguments, and returns the exit status.
  std::function<int(std::span<const char* const>)> run;
};

/// Runs a worker: the whole of its main(). Answers requests over the channel that `plumb` left open
/// until `plumb` closes it. Returns the exit status.
///
/// What a service throws becomes an error reply, except in three requests. In `measure`, internal
/// errors and lack of memory become rows that say why (failed, out of memory), one for each cache
/// mode that has none yet. In `execute` and `load`, everything that the service throws becomes an
/// outcome in the same way.
///
/// Prints nothing on stdout meanwhile, because stdout is a log. Started by hand, it prints how to
/// use it. `--describe LIBRARY…` prints the environment, `--help` the usage. `by_hand` has what
/// this worker does beside these.
int run_worker(std::string_view backend,
               const MakeService& make_service,
               int argc,
               const char* const* argv,
               std::span<const HandCommand> by_hand = {});

}  // namespace plumb::worker
