// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plumb::worker {

/// What a worker observes beside its programs. None of its times counts then.
struct WorkerObservation {
  bool kernels = false;  ///< by the device's profiler
  /// Names of the device's metrics to count (parse_metric_names()). An empty list stands for the
  /// backend's own choice. Absent: nothing is counted.
  std::optional<std::vector<std::string>> metrics;
};

/// Settings of a worker, which the hello of its harness carries.
struct WorkerSetup {
  std::vector<std::filesystem::path> libraries;  ///< of the stack: to load by path, in order
  int threads = 1;
  WorkerObservation observe;
  /// Where a worker with one thread stays: the processor with this number among those that it may
  /// use, counted round from 0. Absent: where the system puts it.
  std::optional<std::uint32_t> place = {};
  /// Which of several equal devices: its number or its identifier. Empty: the first. A backend
  /// without devices refuses a choice.
  std::string device = {};
  /// It shares its device with another worker of this harness. One measures while the other waits.
  bool takes_turns = false;
};

inline constexpr std::size_t kMaxDeviceName = 128;  ///< bytes of WorkerSetup::device

/// Returns the environment variables by which a process has so many OpenMP threads.
[[nodiscard]] std::map<std::string, std::string> thread_variables(int threads);

/// Environment variable with the number of the descriptor for frames. `plumb` sets it, and
/// run_worker() reads it: without it, the worker was started by hand.
inline constexpr const char* kChannelVariable = "PLUMB_WORKER_CHANNEL";

/// Fact that names the worker's profiler. Absent: it has none.
inline constexpr const char* kProfilerFact = "profiler";

/// Parses names of a device's metrics, separated by ','. A name has letters, digits, '_' and '.',
/// and ends with how it is summed up ("sm__inst_executed.sum"). Each may be given once. Throws
/// Error{kUser} that names the wrong one.
[[nodiscard]] std::vector<std::string> parse_metric_names(const std::string& text);

/// Limit of the number of metrics: they become readings of a row.
inline constexpr std::size_t kMaxMetrics = 24;

}  // namespace plumb::worker
