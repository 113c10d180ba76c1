// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>

#include "harness/analysis/library/stack_difference.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb {

/// Layer keys and device that a stack is asked about.
struct StackQuestion {
  std::span<const LayerKey> keys;
  std::string device;  ///< described device, as the library writes it; empty: this machine's
};

/// Starts a worker with a stack, and collects the stack's libraries and what it has for each key.
///
/// Libraries are those that the worker mapped and those in the stack's folders, with their symbols.
/// For each key there are the variants, or on a described device what the library would choose.
/// Nothing is measured. Throws what starting a worker throws.
[[nodiscard]] StackContents stack_contents(const WorkerOptions& options,
                                           const StackQuestion& question);

/// Adds to the first `most` layers why one side passed over what the other has. Only oneDNN says
/// it, in its verbose mode. Each side and layer takes a worker.
void explain_choices(const WorkerOptions& from,
                     const WorkerOptions& to,
                     std::size_t most,
                     StackDifference& difference);

}  // namespace plumb
