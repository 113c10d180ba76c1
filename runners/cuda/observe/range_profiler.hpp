// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/observe/metrics_abi.hpp"
#include "runners/cuda/observe/profiler_library.hpp"

namespace plumb::cuda {

/// Chip, and which of its counters can be read.
struct CountedChip {
  std::string name;                        ///< as CUPTI calls it: "GH100"
  std::vector<std::uint8_t> availability;  ///< CUPTI's image of that; empty: all the chip has
};

/// Translator of metrics into settings of a chip's counters, and of their counts into values. Needs
/// no GPU: CUPTI knows the chips of its time. Not thread-safe. The library must outlive it.
class MetricHost {
 public:
  /// Makes the settings of the counters for these metrics. Throws Error{kEnvironment} for a chip
  /// that this CUPTI does not know, or one without metrics of these names.
  MetricHost(const ProfilerLibrary& library,
             const CountedChip& chip,
             const std::vector<std::string>& metrics);
  ~MetricHost();
  MetricHost(const MetricHost&) = delete;
  MetricHost& operator=(const MetricHost&) = delete;
  MetricHost(MetricHost&&) = delete;
  MetricHost& operator=(MetricHost&&) = delete;

  /// Returns the configuration image of the counters, in CUPTI's own form. passes() is the number
  /// of passes in which all metrics are counted.
  [[nodiscard]] const std::vector<std::uint8_t>& image() const { return image_; }
  [[nodiscard]] std::size_t passes() const { return passes_; }
  static constexpr std::size_t kLargestImage = std::size_t{16} << 20;

  /// Returns the names as calls take them, in the order of the values. They are valid while this
  /// lives.
  [[nodiscard]] std::vector<const char*> names() const;

  /// Returns the value of each metric over one range. `data` is what was counted, in CUPTI's own
  /// form. Throws Error{kEnvironment} if nothing was counted.
  [[nodiscard]] std::vector<double> values(std::span<const std::uint8_t> data,
                                           std::size_t range) const;

 private:
  void configure();

  const ProfilerLibrary& library_;
  abi::MetricHostCalls calls_;
  std::vector<std::string> metrics_;
  void* host_ = nullptr;
  std::vector<std::uint8_t> image_;
  std::size_t passes_ = 0;
};

/// Returns whether a chip has a metric. The name includes the rollup, as in
/// "sm__inst_executed.sum". Throws Error{kEnvironment} if CUPTI does not know the chip.
[[nodiscard]] bool has_metric(const ProfilerLibrary& library,
                              const CountedChip& chip,
                              const std::string& metric);

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
