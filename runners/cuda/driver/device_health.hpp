// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runners/engine/bench/block_monitor.hpp"

namespace plumb::cuda {

/// Clocks, power, temperature and throttle reasons of a GPU at one moment, from the management
/// library. Absent: the library does not report it.
struct HealthSample {
  std::optional<double> sm_clock_hertz;
  std::optional<double> memory_clock_hertz;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  std::optional<std::uint64_t> reasons;  ///< bits: why the clocks are below their highest
};

/// Errors of a GPU up to one moment.
struct HealthErrors {
  std::optional<std::uint64_t> uncorrected;  ///< of its memory, since the driver was loaded
  std::vector<std::uint64_t> xids;           ///< that the driver reported since the last reading
};

/// Summarises what was sampled beside a block, and judges the block. It is disturbed if the
/// hardware, heat or the power brake slowed it down, or if the SMs' clock moved by more than 3%
/// (highest less lowest, against the median: "sm_clock_moved_ratio"). A power cap by software is
/// only reported, because large products always meet it. An uncorrected memory error, or an Xid
/// that no program causes, is a fault. Pure.
[[nodiscard]] engine::MonitoredBlock judged_block(std::span<const HealthSample> samples,
                                                  const HealthErrors& before,
                                                  const HealthErrors& after);

/// Returns whether a program alone can cause an Xid, for example by an illegal address. Such an
/// error costs a row, not the run.
[[nodiscard]] bool is_program_error(std::uint64_t xid);

/// Reading of the energy counter after a number of executions.
struct EnergyMark {
  std::uint64_t executions = 0;
  std::uint64_t millijoules = 0;
};

/// Returns the joules of one execution, from marks taken while the device executed without a pause.
/// Each two consecutive moves of the counter give one value, since it moves in steps of some
/// milliseconds. Absent: it moved less than twice. Pure.
[[nodiscard]] std::optional<results::Reading> energy_per_execution(
    std::span<const EnergyMark> marks);

}  // namespace plumb::cuda
