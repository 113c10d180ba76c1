// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/observe/profiler.hpp"
#include "runners/cuda/observe/profiler_abi.hpp"

namespace plumb::cuda {

/// Reader of metrics of executions from the GPU's hardware counters. Not thread-safe.
class CounterReader {
 public:
  /// Translator of metrics into settings of a chip's counters, and of their counts into values.
  /// Needs no GPU: CUPTI knows the chips of its time. Not thread-safe. The library must outlive it.
  class Host {
   public:
    /// Chip, and which of its counters can be read.
    struct Chip {
      std::string name;                        ///< as CUPTI calls it: "GH100"
      std::vector<std::uint8_t> availability;  ///< CUPTI's image of that; empty: all the chip has
    };

    /// Makes the settings of the counters for these metrics. Throws Error{kEnvironment} for a chip
    /// that this CUPTI does not know, or one without metrics of these names.
    Host(const ProfilerLibrary& library, const Chip& chip, const std::vector<std::string>& metrics);
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    Host(Host&&) = delete;
    Host& operator=(Host&&) = delete;

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
    abi::ProfilerCalls::Ranges::Host calls_;
    std::vector<std::string> metrics_;
    void* host_ = nullptr;
    std::vector<std::uint8_t> image_;
    std::size_t passes_ = 0;
  };

  /// Reader of a GPU's hardware counters over ranges of work, by CUPTI's Range Profiler. It uses
  /// user ranges and user replay: what cannot be counted at once is counted in passes, each over
  /// the same work done again. No time of such a process counts. Not thread-safe.
  class Ranges {
   public:
    /// Initialises CUPTI's profiler. It must be constructed before the GPU's context. Throws
    /// Error{kEnvironment} with the reason: no library, a library without this interface, or no
    /// driver.
    Ranges();
    ~Ranges();
    Ranges(const Ranges&) = delete;
    Ranges& operator=(const Ranges&) = delete;
    Ranges(Ranges&&) = delete;
    Ranges& operator=(Ranges&&) = delete;

    [[nodiscard]] const ProfilerLibrary& library() const { return library_; }

    /// Returns the GPU's chip with the counters that can be read. Throws Error{kEnvironment},
    /// mainly where the driver keeps counters to administrators.
    [[nodiscard]] Host::Chip chip(const Device::Context& context) const;

    /// Runs `work` once per range and pass, and returns the values by range and metric. The GPU
    /// must have finished all of the work when `work` returns. Throws Error{kEnvironment} for
    /// metrics that take more than kMaxPasses, and where counting fails.
    [[nodiscard]] std::vector<std::vector<double>> count(const Device::Context& context,
                                                         const Host& metrics,
                                                         std::size_t ranges,
                                                         const std::function<void()>& work) const;
    static constexpr std::size_t kMaxPasses = 64;

   private:
    class Session;

    ProfilerLibrary library_;
    abi::ProfilerCalls::Ranges calls_;
  };

  /// Metrics to count on a chip, and the requested ones that it cannot count.
  struct Choice {
    /// Metric of the GPU's counters, and the name of its reading in a row.
    struct Metric {
      std::string name;     ///< CUPTI's: "lts__t_sector_hit_rate.pct"
      std::string reading;  ///< "l2_hit_ratio"; of one requested by name, that name
      double unit = 1.0;    ///< of the reading, for each of the metric's own

      bool operator==(const Metric&) const = default;
    };

    std::vector<Metric> metrics;
    std::vector<std::string> missing;  ///< readings, or names as requested

    [[nodiscard]] std::vector<std::string> names() const;
  };

  /// Takes the names of metrics. None: the default metrics of choose_metrics(). Throws as
  /// Ranges does and, like it, must be constructed before the GPU's context.
  explicit CounterReader(std::vector<std::string> asked) : asked_(std::move(asked)) {}

  /// Counts over kRanges ranges of `execute(n)`, which executes n times and waits. n is chosen so
  /// that a range lasts about two milliseconds, and is at most kMaxExecutions. Returns
  /// metric_observation() and, as "metrics", how it was counted. Throws Error{kEnvironment} that
  /// says why nothing was.
  [[nodiscard]] worker::Program::Observation read(const Device::Context& context,
                                                  const std::function<void(std::size_t)>& execute);
  static constexpr std::size_t kRanges = 3;
  static constexpr std::size_t kMaxExecutions = 100;

 private:
  Ranges profiler_;
  std::vector<std::string> asked_;
  std::optional<Host::Chip> chip_;  // from the first reading on
  Choice choice_;
};

/// Returns whether a chip has a metric. The name includes the rollup, as in
/// "sm__inst_executed.sum". Throws Error{kEnvironment} if CUPTI does not know the chip.
[[nodiscard]] bool has_metric(const ProfilerLibrary& library,
                              const CounterReader::Host::Chip& chip,
                              const std::string& metric);

/// Chooses the metrics that were requested by name or, if none were, the default ones. Those answer
/// what a row leaves open: instructions, in all and of tensor cores, how busy their pipe, the
/// processors and the memory are, bytes from and to memory, hits in the L2 cache, occupancy. Chips
/// name some of them differently: the first name that the chip has is taken.
[[nodiscard]] CounterReader::Choice choose_metrics(
    const std::vector<std::string>& asked, const std::function<bool(const std::string&)>& has);

/// Summarises values by range and metric, where each range has `executions` executions. Readings of
/// counts (names that end with .sum, .avg, .min or .max) are those of one execution. All others are
/// as they were counted. A value that is no number is left out, and "metrics_missing" names it.
///
/// Where instructions of the tensor pipe were counted, "tensor_cores" says whether any of them was
/// a matrix instruction. That is all but HFMA2.MMA, ordinary arithmetic that GA100 and GH100
/// execute there. Up to a thousandth is not counted, because it may differ from pass to pass.
[[nodiscard]] worker::Program::Observation metric_observation(
    const CounterReader::Choice& choice,
    const std::vector<std::vector<double>>& ranges,
    std::size_t executions);

/// Returns how many executions fill a range, if one takes `one`. At most kMaxExecutions.
[[nodiscard]] std::size_t executions_of_range(Seconds one);

}  // namespace plumb::cuda
