// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/worker/client/worker_process.hpp"

namespace plumb::session {

/// Returns the options to start workers of a stack with a number of threads, on one of several
/// devices (worker::WorkerSetup). Workers are found relative to this program's folder.
[[nodiscard]] worker::WorkerOptions worker_options(const std::string& stack,
                                                   int threads,
                                                   const std::string& device = {});

}  // namespace plumb::session
