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

/// Names the fact that says which profiler a worker has for that; absent: none.
inline constexpr const char* kProfilerFact = "profiler";

}  // namespace plumb
