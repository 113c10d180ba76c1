// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>

#include "harness/analyze/stack_difference.hpp"
#include "harness/worker/worker_process.hpp"

namespace plumb {

/// The layer keys and the device that a stack is queried for.
struct StackQuestion {
  std::span<const LayerKey> keys;
  std::string device;  ///< described device, as the library writes it; empty: the one that is here
};

/// Starts a worker with a stack and collects what is in it: the libraries that it mapped and those
/// that lie in its folders, with their symbols, and what it has, or would choose on a described
/// device, for each key. Nothing is measured. Throws what starting a worker throws.
[[nodiscard]] StackContents stack_contents(const WorkerOptions& options,
                                           const StackQuestion& question);

/// Adds to the first `most` layers why one side passed over what the other has, where the library
/// says it (oneDNN, in its verbose mode); a worker for each side and layer.
void explain_choices(const WorkerOptions& from,
                     const WorkerOptions& to,
                     std::size_t most,
                     StackDifference& difference);

}  // namespace plumb
