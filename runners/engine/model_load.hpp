// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/measure/disturbance.hpp"
#include "harness/results/load_execution.hpp"
#include "harness/scenario/load_clock.hpp"
#include "harness/worker/backend.hpp"
#include "harness/worker/load_request.hpp"
#include "runners/engine/layer_timing.hpp"

namespace plumb {

/// Loads a whole model by a scenario: prepares a program for each bucket and lane, warms up, loads,
/// judges. single and multi_stream with one lane run in the calling thread, all else behind a
/// dynamic batcher. Server without a rate is searched for its peak. Offline's one query is sized by
/// a short load before, and cut where the budget ends. Whatever goes wrong is the result's outcome.
[[nodiscard]] LoadExecution load_model(Backend& backend,
                                       LayerTiming& timing,
                                       const DisturbanceSource& disturbance,
                                       LoadClock& clock,
                                       const LoadRequest& request,
                                       const LoadReport& report);

}  // namespace plumb
