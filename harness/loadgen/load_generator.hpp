// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/loadgen/load_clock.hpp"
#include "harness/loadgen/load_result.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

/// Loads a system by a scenario of MLPerf Inference, and judges the result.
///
/// Queries are issued from the calling thread. Issuing ends when both the minimum duration and the
/// minimum number of queries are reached, or at the maximum duration. The run then ends when every
/// sample is answered, or when none has been for the stall limit. Memory does not grow with the
/// number of queries.
///
/// Latencies start at different moments:
/// - single_stream and multi_stream: when the query is issued
/// - server: when the query was due, so that a late issue counts against the system; in accuracy
///   mode every query is due at the start
/// - offline: with the run
///
/// With a fixed duration, offline issues its samples in queries of samples_per_query, two of them
/// outstanding.
///
/// A warm-up is the same load before the run, and its result is discarded. If samples are dropped
/// there, the run ends with it. `responses` receives every response in accuracy mode, and may be
/// nullptr. Throws Error{kUser} for server without a target rate, and what the system throws.
[[nodiscard]] LoadResult run_load(const EffectiveLoad& load,
                                  SystemUnderTest& system,
                                  LoadClock& clock,
                                  ResponseLog* responses = nullptr);

}  // namespace plumb::loadgen
