// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>

#include "harness/analysis/library/stack_difference.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::stacks {

/// Layer keys and device that a stack is asked about.
struct StackQuestion {
  std::span<const model::LayerKey> keys;
  std::string device;  ///< described device, as the library writes it; empty: this machine's
};

/// Starts a worker with a stack, and collects the stack's libraries and what it has for each key.
///
/// Libraries are those that the worker mapped and those in the stack's folders, with their symbols.
/// For each key there are the variants, or on a described device what the library would choose.
/// Nothing is measured. Throws what starting a worker throws.
[[nodiscard]] analysis::StackContents stack_contents(const worker::WorkerOptions& options,
                                                     const StackQuestion& question);

/// Adds to the first `most` layers why one side passed over what the other has. Only oneDNN says
/// it, in its verbose mode. Each side and layer takes a worker.
void explain_choices(const worker::WorkerOptions& from,
                     const worker::WorkerOptions& to,
                     std::size_t most,
                     analysis::StackDifference& difference);

}  // namespace plumb::stacks
