// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/execution.hpp"
#include "harness/worker/backend.hpp"
#include "harness/worker/execute_request.hpp"
#include "runners/engine/layer_timing.hpp"

namespace plumb {

/// Executes a whole model end to end and times it: one query after the other, from the dense inputs
/// in their buffers to the dense outputs in theirs. Whatever goes wrong is the result's outcome;
/// what is wrong is not timed.
[[nodiscard]] Execution execute_model(Backend& backend,
                                      LayerTiming& timing,
                                      const ExecuteRequest& request);

}  // namespace plumb
