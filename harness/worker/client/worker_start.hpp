// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"
#include "harness/worker/protocol/stack.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::worker {

/// Options for starting a worker.
struct WorkerOptions {
  Stack stack;
  WorkerSetup setup;  ///< without the stack's libraries, which the start adds
  std::vector<std::filesystem::path>
      search_path;  ///< where plumb-worker-BACKEND may lie, first wins
  /// Fastest pace of the host in all rows so far, passed on with each request. All processes that
  /// are started with copies of these options share it.
  std::shared_ptr<results::FastestPace> pace = std::make_shared<results::FastestPace>();
  Seconds start_timeout{120.0};    ///< libraries of half a gigabyte may come from a slow disk
  Seconds request_timeout{120.0};  ///< for describe, variants, calibrate, preview and reproduce
};

/// Composes the environment of a worker as "NAME=value", sorted. Later parts win:
/// - `surroundings` (in the form of environ(7)) without the variables that tune a library, see
///   Stack;
/// - the number of OpenMP threads, bound to cores if there are several;
/// - the stack's folders in front of LD_LIBRARY_PATH;
/// - the stack's variables;
/// - what run_worker() needs.
///
/// Throws Error{kUser} for paths that no variable can carry.
[[nodiscard]] std::vector<std::string> worker_environment(const Stack& stack,
                                                          int threads,
                                                          int channel,
                                                          const char* const* surroundings);

/// Finds the executable `plumb-worker-BACKEND`. The first of these folders that has it counts:
/// - `search_path`, in order;
/// - the folders of PLUMB_WORKER_PATH, separated by ':';
/// - `libexec/plumb` beside this program or above it, as installed and as in a build tree.
///
/// Throws Error{kEnvironment} that names these folders and what to build or install.
[[nodiscard]] std::filesystem::path find_worker(
    const std::string& backend, const std::vector<std::filesystem::path>& search_path);

/// Lists the backends whose workers find_worker() would find, sorted.
[[nodiscard]] std::vector<std::string> worker_backends(
    const std::vector<std::filesystem::path>& search_path);

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
