// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/environment.hpp"
#include "harness/worker/client/worker_options.hpp"

namespace plumb::worker {

inline constexpr const char* kWorkerDigest = "worker.sha256";

/// Returns the variables of a stack that are part of an environment's identity, each by its name.
/// They are named in capitals. Paths are left out, since the files behind them identify themselves,
/// and so are settings of the harness (PLUMB_*). A digest stands for a file that a value names.
[[nodiscard]] results::Facts stack_identity(const Stack& stack);

/// Returns the facts with which a worker is started:
/// - `worker.sha256`: the digest of its file;
/// - `stack.variables`: the stack's variables, with a digest in place of each file that one names;
/// - `worker.variables`: inherited variables that change how any program runs (LD_PRELOAD,
///   GLIBC_TUNABLES, MALLOC_*, PLUMB_TEST_*).
///
/// A fact is empty where there are no such variables. `surroundings` is in the form of environ(7).
/// Throws Error{kEnvironment} if there is no such worker.
[[nodiscard]] results::Facts started_facts(const WorkerOptions& options,
                                           const char* const* surroundings);

}  // namespace plumb::worker
