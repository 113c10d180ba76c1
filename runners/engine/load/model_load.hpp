// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/loadgen/system_under_test.hpp"
#include "harness/measure/disturbance.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::engine {

/// Runs a load scenario on a whole model: prepares a program for each bucket and lane, loads and
/// judges.
///
/// Streams with one lane run in the calling thread, everything else behind a dynamic batcher. A
/// server scenario without a rate is searched for its peak. The one query of an offline scenario is
/// sized by a short load before it, and cut where the budget ends. A failure is the result's
/// outcome.
[[nodiscard]] results::ScenarioResult load_model(worker::Backend& backend,
                                                 LayerTiming& timing,
                                                 const measure::DisturbanceSource& disturbance,
                                                 loadgen::LoadClock& clock,
                                                 const worker::LoadRequest& request,
                                                 const worker::LoadReport& report);

}  // namespace plumb::engine
