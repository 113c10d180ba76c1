// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "harness/base/units.hpp"

namespace plumb::measure {

/// Effect of the rest of the machine on one block of measurement. The sources are Linux's
/// getrusage, /proc/stat, /proc/loadavg and /proc/pressure/cpu. Absent: the system does not report
/// it.
struct Disturbance {
  /// Counters at one moment. A counter is absent if its file is missing or has other content.
  struct Reading {
    std::int64_t involuntary_switches = 0;
    std::optional<double> steal_ticks;
    std::optional<double> total_ticks;
    std::optional<double> pressure_microseconds;
    std::optional<double> load;
    Seconds wall{};
  };

  /// Limits of an undisturbed block. A block beyond any one of them counts as disturbed.
  /// docs/reference/measurement.md has the reasons.
  struct Limits {
    std::int64_t switches = 2;          ///< that any block may have…
    double switches_per_second = 40.0;  ///< …and so many more for each second it lasts
    double steal_ratio = 0.02;  ///< judged from the second stolen tick on: one may be a rounding
    double steal_ticks = 2.0;
    double pressure_ratio = 0.10;  ///< judged in blocks of at least `pressure_block`
    Seconds pressure_block{0.005};
  };

  std::int64_t involuntary_switches = 0;
  std::optional<double> steal_ratio;  ///< of the block's CPU time
  std::optional<double>
      load;  ///< one-minute load average at the end, less our own thread; never judged
  std::optional<double> pressure_ratio;  ///< share of the block in which some task waited for a CPU
  bool disturbed = false;                ///< judged by Limits
};

/// Reads the counters of this process and, below `proc`, of the machine. Throws nothing: what
/// cannot be read is absent.
[[nodiscard]] Disturbance::Reading read_disturbance(const std::filesystem::path& proc = "/proc");

/// Compares two readings of one block and judges it. Pure.
[[nodiscard]] Disturbance disturbance_between(const Disturbance::Reading& begin,
                                              const Disturbance::Reading& end,
                                              const Disturbance::Limits& limits = {});

/// Reader of the counters. It is injected, so that tests can script it.
using DisturbanceSource = std::function<Disturbance::Reading()>;

}  // namespace plumb::measure
