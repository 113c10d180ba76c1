// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/worker/client/worker_process.hpp"

namespace plumb::session {

/// Choice of a stack's workers.
struct WorkerChoice {
  std::string stack = "default";
  int threads = 1;
  std::string device{};  ///< see worker::WorkerSetup
};

/// Returns the options to start the chosen workers. They are found relative to this program's
/// folder.
[[nodiscard]] worker::WorkerOptions worker_options(const WorkerChoice& choice);

}  // namespace plumb::session
