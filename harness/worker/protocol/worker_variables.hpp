// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

/// Environment variables that carry a worker's setup. `plumb` sets them, and run_worker() reads
/// them.
inline constexpr const char* kChannelVariable =
    "PLUMB_WORKER_CHANNEL";  ///< number of the descriptor
inline constexpr const char* kLibrariesVariable =
    "PLUMB_WORKER_LIBRARIES";  ///< paths, separated by ':'
inline constexpr const char* kThreadsVariable = "PLUMB_WORKER_THREADS";
/// Variable that makes the worker observe its programs with the device's profiler. None of its
/// times counts then.
inline constexpr const char* kProfileVariable = "PLUMB_WORKER_PROFILE";
/// Variable that makes the worker read the device's counters beside its programs. None of its times
/// counts then. It holds names of metrics (parse_metric_names()), or kDefaultMetrics.
inline constexpr const char* kMetricsVariable = "PLUMB_WORKER_METRICS";
inline constexpr const char* kDefaultMetrics = "default";

/// Fact that names the worker's profiler for that. Absent: it has none.
inline constexpr const char* kProfilerFact = "profiler";

}  // namespace plumb
