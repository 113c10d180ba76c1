// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analyze/stack_difference.hpp"
#include "harness/worker/worker_process.hpp"

namespace plumb {

/// Starts a worker with a stack and collects what is in it: the libraries that it mapped and those
/// that lie in its folders, with their symbols, and what it has for each key. Nothing is measured.
/// Throws what starting a worker throws.
[[nodiscard]] StackContents stack_contents(const WorkerOptions& options,
                                           std::span<const LayerKey> keys);

}  // namespace plumb
