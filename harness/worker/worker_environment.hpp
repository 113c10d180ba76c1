// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/worker/stack.hpp"

namespace plumb {

/// Composes the environment of a worker as "NAME=value", sorted: what surrounds us, less every
/// variable that tunes a library (see Stack); threads for OpenMP (bound to cores when there are
/// several); the stack's folders in front of LD_LIBRARY_PATH; the stack's variables, which win; and
/// what run_worker needs. `surroundings` is in the form of environ(7). Throws Error{kUser} for
/// paths that no variable can carry.
[[nodiscard]] std::vector<std::string> worker_environment(const Stack& stack,
                                                          int threads,
                                                          int channel,
                                                          const char* const* surroundings);

}  // namespace plumb
