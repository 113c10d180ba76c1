// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/observe/metric_choice.hpp"
#include "runners/cuda/observe/range_profiler.hpp"

namespace plumb::cuda {

/// Reader of metrics of executions from the GPU's hardware counters. Not thread-safe.
class CounterReader {
 public:
  /// Takes the names of metrics. None: the default metrics of choose_metrics(). Throws as
  /// RangeProfiler does and, like it, must be constructed before the GPU's context.
  explicit CounterReader(std::vector<std::string> asked) : asked_(std::move(asked)) {}

  /// Counts over kRanges ranges of `execute(n)`, which executes n times and waits. n is chosen so
  /// that a range lasts about two milliseconds, and is at most kMaxExecutions. Returns
  /// metric_observation() and, as "metrics", how it was counted. Throws Error{kEnvironment} that
  /// says why nothing was.
  [[nodiscard]] worker::Observation read(const DeviceContext& context,
                                         const std::function<void(std::size_t)>& execute);
  static constexpr std::size_t kRanges = 3;
  static constexpr std::size_t kMaxExecutions = 100;

 private:
  RangeProfiler profiler_;
  std::vector<std::string> asked_;
  std::optional<CountedChip> chip_;  // from the first reading on
  MetricChoice choice_;
};

/// Returns how many executions fill a range, if one takes `one`. At most kMaxExecutions.
[[nodiscard]] std::size_t executions_of_range(Seconds one);

}  // namespace plumb::cuda
