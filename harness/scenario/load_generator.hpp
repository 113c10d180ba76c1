// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/scenario/load_clock.hpp"
#include "harness/scenario/load_result.hpp"
#include "harness/scenario/load_settings.hpp"
#include "harness/scenario/system_under_test.hpp"

namespace plumb {

/// Loads a system as MLPerf Inference's scenarios do, and judges what came of it.
///
/// Issues from the calling thread. A run ends when both the minimum duration and the minimum number
/// of queries are reached (or the maximum duration is), and then when every sample is answered, or
/// none has been for the stall limit. Latencies start when a query is issued (single and
/// multi_stream), when it was due (server: a late issue counts against the system) or with the run
/// (offline). With a fixed duration offline gives out its samples in queries of samples_per_query,
/// two of them outstanding. Memory does not grow with the number of queries.
///
/// A warm-up is the same load before, thrown away; if samples are dropped there, the run ends with
/// it. `responses` is given every response in accuracy mode; may be nullptr. Throws Error{kUser}
/// for server without a target rate, and what the system throws.
[[nodiscard]] LoadResult run_load(const EffectiveLoad& load,
                                  SystemUnderTest& system,
                                  LoadClock& clock,
                                  ResponseLog* responses = nullptr);

}  // namespace plumb
