// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/worker/worker_process.hpp"

namespace plumb {

/// Returns the options to start workers of a stack with a number of threads. Workers are found from
/// this program's place on disk.
[[nodiscard]] WorkerOptions worker_options(const std::string& stack, int threads);

}  // namespace plumb
