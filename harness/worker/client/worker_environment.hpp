// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/worker/protocol/stack.hpp"

namespace plumb::worker {

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

}  // namespace plumb::worker
