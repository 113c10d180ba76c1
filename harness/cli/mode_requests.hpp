// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analyze/result_set.hpp"
#include "harness/plan/planner.hpp"
#include "harness/store/store.hpp"
#include "harness/worker/execute_request.hpp"

namespace plumb {

/// Reads a run's rows, with the newest calibration of its environment.
[[nodiscard]] ResultSet results_of(const Store& store, const RunId& run);

/// Makes the requests for the modes a model is to be executed in. A mode with best_variant gets its
/// steps from the run's own rows: the cheapest cover that the mode allows, each step with the times
/// of its variants, and the calibrated bandwidth as the price of reorders (without a calibration:
/// only the fastest variant); without a time for every layer it is left out. Not asked for any
/// modes in particular (`wanted` empty), it is plain, fusion, channels_last where there are
/// convolutions, and what the run has times for: best_variant, best_variant+fusion and, of an f32
/// model, bf16, all together and fusion+int8.
[[nodiscard]] std::vector<ModeRequest> mode_requests(const PlannedModel& model,
                                                     const ResultSet& results,
                                                     const std::vector<ExecutionMode>& wanted);

}  // namespace plumb
