// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runners/engine/block_monitor.hpp"

namespace plumb::cuda {

/// Is what the management library says of a GPU at one moment; absent: it does not say.
struct HealthSample {
  std::optional<double> sm_clock_hertz;
  std::optional<double> memory_clock_hertz;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  std::optional<std::uint64_t> reasons;  ///< why the clocks are not at their highest: bits
};

/// Counts a GPU's errors.
struct HealthErrors {
  std::optional<std::uint64_t> uncorrected;  ///< of its memory, since the driver was loaded
  std::vector<std::uint64_t> xids;           ///< that the driver reported since the last look
};

/// Sums up what was seen beside a block and judges it: slowed down by the hardware, by heat or by
/// the power brake, it is disturbed; a power cap by software is only said, as large products meet
/// it always. An uncorrected memory error, or an Xid that no program causes, is a fault. Pure.
[[nodiscard]] MonitoredBlock judged_block(std::span<const HealthSample> samples,
                                          const HealthErrors& before,
                                          const HealthErrors& after);

/// Tells whether a program alone can cause an Xid (an illegal address, say): that costs a row, not
/// the run.
[[nodiscard]] bool is_program_error(std::uint64_t xid);

/// Is the energy counter at a moment, after so many executions.
struct EnergyMark {
  std::uint64_t executions = 0;
  std::uint64_t millijoules = 0;
};

/// Returns joules an execution, from marks taken while the device executed without a pause: between
/// each two moments at which the counter moved, since it moves in steps of some milliseconds.
/// Absent: it moved less than twice. Pure.
[[nodiscard]] std::optional<Reading> energy_per_execution(std::span<const EnergyMark> marks);

}  // namespace plumb::cuda
