// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/environment.hpp"
#include "harness/worker/worker_process.hpp"

namespace plumb {

inline constexpr const char* kWorkerDigest = "worker.sha256";

/// Returns what a worker is started as: `worker.sha256` of its file, `stack.variables`, a file
/// that one of them names by its content, and `worker.variables`, which it inherits and which
/// change how any program runs (LD_PRELOAD, GLIBC_TUNABLES, MALLOC_*, PLUMB_TEST_*). Without such
/// variables the fact is empty. Throws Error{kEnvironment} if there is no such worker.
[[nodiscard]] Facts started_facts(const WorkerOptions& options, const char* const* surroundings);

}  // namespace plumb
