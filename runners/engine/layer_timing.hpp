// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/measure/disturbance.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/results/measurement.hpp"
#include "runners/engine/block_monitor.hpp"
#include "runners/engine/harness_floor.hpp"
#include "runners/engine/host_pace.hpp"

namespace plumb {

/// Times blocks of measurement and fills their rows: through Google Benchmark, with the floor of
/// this process and the disturbance of each block.
///
/// A disturbed block is measured again, up to the attempts allowed. Where blocks stay disturbed one
/// after the other the host will not get quieter by asking: after three of them each gets one
/// attempt, until a quiet one is seen.
class LayerTiming {
 public:
  /// `filter` is Google Benchmark's: a regular expression over "key/variant/cache/purpose"; empty:
  /// all. A `monitor` (which must outlive this) watches the device beside each block. `pace`, where
  /// given, is asked before and after each block but a race's or a device's own. A block beside
  /// which it is slow against the fastest that is known is disturbed; before one, a slow host is
  /// waited for.
  explicit LayerTiming(
      Clock clock = steady_clock(),
      DisturbanceSource disturbance = [] { return read_disturbance(); },
      std::string filter = {},
      BlockMonitor* monitor = nullptr,
      HostPaceSource pace = {});

  /// Takes in the fastest pace that other processes saw: a process that a neighbour slows down from
  /// its start cannot tell by itself.
  void know_pace(std::optional<Seconds> fastest);

  /// Fills samples, repetitions, summary, floor, disturbance, attempt and started of a row whose
  /// key, variant, cache and purpose are set. Sets the outcome to kSkipped if the filter leaves the
  /// row out, and, but in races, to kUnstable if the interval's half width is above kUnstableAbove
  /// or there is only one sample. What the
  /// monitor read is added to the readings; after a fault of the device the outcome is kCrashed,
  /// and the attribute kDeviceFault says which.
  void time(TimedRegion& region, const SamplingPlan& plan, std::int64_t attempts, Measurement& row);

  [[nodiscard]] const Clock& clock() const { return clock_; }
  /// Returns the harness's own cost, measured at the first call.
  [[nodiscard]] const HarnessFloor& floor();

  static constexpr double kUnstableAbove = 0.10;
  static constexpr Seconds kMinWaiting{0.1};
  static constexpr double kWaitingShare = 0.2;

 private:
  Clock clock_;
  DisturbanceSource disturbance_;
  std::string filter_;
  BlockMonitor* monitor_;
  HostPaceSource pace_;
  /// Waits until the host is at its pace: in all for kMinWaiting and kWaitingShare of this object's
  /// life at most.
  [[nodiscard]] Seconds quiet_pace();

  std::optional<Seconds> fastest_pace_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  Seconds waited_{};
  bool floor_known_ = false;
  HarnessFloor floor_;
  int stayed_disturbed_ = 0;  // blocks in a row
};

/// Returns kUnstable and the reason if the interval's half width is above kUnstableAbove or n < 2.
[[nodiscard]] Outcome stability_of(const SampleSummary& summary);

}  // namespace plumb
