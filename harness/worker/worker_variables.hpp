// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

/// Names the environment variables that carry a worker's setup. `plumb` sets them, run_worker reads
/// them.
inline constexpr const char* kChannelVariable =
    "PLUMB_WORKER_CHANNEL";  ///< number of the descriptor
inline constexpr const char* kLibrariesVariable =
    "PLUMB_WORKER_LIBRARIES";  ///< paths, separated by ':'
inline constexpr const char* kThreadsVariable = "PLUMB_WORKER_THREADS";
/// Set: the worker's programs are observed with the device's profiler, and none of its times
/// counts.
inline constexpr const char* kProfileVariable = "PLUMB_WORKER_PROFILE";
/// Set: the worker reads the device's counters beside its programs, and none of its times counts.
/// The names of metrics (parse_metric_names()), or kDefaultMetrics.
inline constexpr const char* kMetricsVariable = "PLUMB_WORKER_METRICS";
inline constexpr const char* kDefaultMetrics = "default";

/// Names the fact that says which profiler a worker has for that; absent: none.
inline constexpr const char* kProfilerFact = "profiler";

}  // namespace plumb
