// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/observe/range_profiler.hpp"

namespace plumb::cuda {

/// Metric of the GPU's counters, and the name of its reading in a row.
struct ChosenMetric {
  std::string name;     ///< CUPTI's: "lts__t_sector_hit_rate.pct"
  std::string reading;  ///< "l2_hit_ratio"; of one requested by name, that name
  double unit = 1.0;    ///< of the reading, for each of the metric's own

  bool operator==(const ChosenMetric&) const = default;
};

/// Metrics to count on a chip, and the requested ones that it cannot count.
struct MetricChoice {
  std::vector<ChosenMetric> metrics;
  std::vector<std::string> missing;  ///< readings, or names as requested

  [[nodiscard]] std::vector<std::string> names() const;
};

/// Chooses the metrics that were requested by name or, if none were, the default ones. Those answer
/// what a row leaves open: instructions, in all and of tensor cores, how busy their pipe, the
/// processors and the memory are, bytes from and to memory, hits in the L2 cache, occupancy. Chips
/// name some of them differently: the first name that the chip has is taken.
[[nodiscard]] MetricChoice choose_metrics(const std::vector<std::string>& asked,
                                          const std::function<bool(const std::string&)>& has);

/// Summarises values by range and metric, where each range has `executions` executions. Readings of
/// counts (names that end with .sum, .avg, .min or .max) are those of one execution. All others are
/// as they were counted. A value that is no number is left out, and "metrics_missing" names it.
///
/// Where instructions of the tensor pipe were counted, "tensor_cores" says whether any of them was
/// a matrix instruction. That is all but HFMA2.MMA, ordinary arithmetic that GA100 and GH100
/// execute there. Up to a thousandth is not counted, because it may differ from pass to pass.
[[nodiscard]] worker::Observation metric_observation(const MetricChoice& choice,
                                                     const std::vector<std::vector<double>>& ranges,
                                                     std::size_t executions);

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
