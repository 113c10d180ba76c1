// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/report/stack_report.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::stacks {

/// A shared library that a process has mapped.
struct MappedLibrary {
  std::string name;  ///< file name without what follows ".so": "libdnnl"
  std::filesystem::path path;
  bool of_stack = false;  ///< the stack names it, or it lies in one of the stack's folders
  bool deleted = false;   ///< the file was removed or replaced since
};

/// Lists the shared libraries that a running process has mapped, each file once, in the order of
/// their addresses. Empty if the process is gone.
[[nodiscard]] std::vector<MappedLibrary> mapped_libraries(int pid, const worker::Stack& stack);

/// Returns the libraries that a worker running with a stack has mapped so far, and the problems
/// found. Lists libraries that the stack names, that lie in its folders, or whose version the
/// worker reports. Each has its version as the worker reports it and the SHA-256 of its file.
/// Problems: a library that the stack names and the worker did not map, and two files of one
/// library (a mixture). Throws WorkerDied.
[[nodiscard]] analysis::StackReport probe_worker(worker::WorkerProcess& worker,
                                                 const worker::Stack& stack);

/// Lists all stacks, `default` first, with the libraries that their files name. A stack that cannot
/// be read has a problem instead.
[[nodiscard]] std::vector<analysis::StackReport> list_stacks(
    const std::filesystem::path& stacks_folder);

}  // namespace plumb::stacks
