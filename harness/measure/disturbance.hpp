// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "harness/base/units.hpp"

namespace plumb {

/// Counts what the rest of the machine did to a block of measurement (Linux: getrusage, /proc/stat, /proc/loadavg,
/// /proc/pressure/cpu). Absent: the system does not say.
struct Disturbance {
  std::int64_t involuntary_switches = 0;
  std::optional<double> steal_ratio;     ///< of the block's CPU time
  std::optional<double> load;            ///< one-minute load average at the end, less our own thread
  std::optional<double> pressure_ratio;  ///< share of the block in which some task waited for a CPU
  bool disturbed = false;                ///< judged by disturbance_limits in docs/MEASUREMENT.md
};

/// Watches one block of measurement, from construction to finish().
class DisturbanceWatch {
 public:
  DisturbanceWatch();
  [[nodiscard]] Disturbance finish() const;

 private:
  struct Reading {
    std::int64_t involuntary_switches = 0;
    std::optional<double> steal_ticks;
    std::optional<double> total_ticks;
    std::optional<double> pressure_microseconds;
    Seconds wall{};
  };
  static Reading read();
  Reading start_;
};

}  // namespace plumb
