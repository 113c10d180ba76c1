// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/worker/worker_process.hpp"
#include "reporting/stack_documents.hpp"

namespace plumb {

/// Is a shared library that a process has mapped.
struct MappedLibrary {
  std::string name;  ///< file name without what follows ".so": "libdnnl"
  std::filesystem::path path;
  bool of_stack = false;  ///< the stack names it, or it lies in one of the stack's folders
  bool deleted = false;   ///< the file was removed or replaced since
};

/// Lists the shared libraries that a running process has mapped, each file once, in the order of
/// their addresses. Empty if the process is gone.
[[nodiscard]] std::vector<MappedLibrary> mapped_libraries(int pid, const Stack& stack);

/// Says what a worker that runs with a stack has mapped by now: the libraries that the stack names
/// or that lie in its folders, with versions as the worker reports them and SHA-256 of the files.
/// Problems: a library that the stack names and the worker did not map, and two files of one
/// library (a mixture). Throws WorkerDied.
[[nodiscard]] StackReport probe_worker(WorkerProcess& worker, const Stack& stack);

/// Lists the stacks there are, `default` first, with what their files name; a stack that cannot be
/// read has a problem instead.
[[nodiscard]] std::vector<StackReport> list_stacks(const std::filesystem::path& stacks_folder);

}  // namespace plumb
