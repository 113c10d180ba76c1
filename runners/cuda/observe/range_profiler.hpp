// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "runners/cuda/driver/device_context.hpp"
#include "runners/cuda/observe/metric_host.hpp"
#include "runners/cuda/observe/metrics_abi.hpp"
#include "runners/cuda/observe/profiler_library.hpp"

namespace plumb::cuda {

/// Reader of a GPU's hardware counters over ranges of work, by CUPTI's Range Profiler. It uses user
/// ranges and user replay: what cannot be counted at once is counted in passes, each over the same
/// work done again. No time of such a process counts. Not thread-safe.
class RangeProfiler {
 public:
  /// Initialises CUPTI's profiler. It must be constructed before the GPU's context. Throws
  /// Error{kEnvironment} with the reason: no library, a library without this interface, or no
  /// driver.
  RangeProfiler();
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;
  RangeProfiler(RangeProfiler&&) = delete;
  RangeProfiler& operator=(RangeProfiler&&) = delete;

  [[nodiscard]] const ProfilerLibrary& library() const { return library_; }

  /// Returns the GPU's chip with the counters that can be read. Throws Error{kEnvironment}, mainly
  /// where the driver keeps counters to administrators.
  [[nodiscard]] CountedChip chip(const DeviceContext& context) const;

  /// Runs `work` once per range and pass, and returns the values by range and metric. The GPU must
  /// have finished all of the work when `work` returns. Throws Error{kEnvironment} for metrics that
  /// take more than kMaxPasses, and where counting fails.
  [[nodiscard]] std::vector<std::vector<double>> count(const DeviceContext& context,
                                                       const MetricHost& metrics,
                                                       std::size_t ranges,
                                                       const std::function<void()>& work) const;
  static constexpr std::size_t kMaxPasses = 64;

 private:
  class Session;

  ProfilerLibrary library_;
  abi::RangeProfilerCalls calls_;
};

}  // namespace plumb::cuda
