// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device_health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "runners/cuda/driver/management_abi.hpp"

namespace plumb::cuda {
namespace {

struct Reason {
  std::uint64_t bit = 0;
  std::string_view name;
  bool disturbs = false;
};

constexpr std::array kReasons{
    Reason{abi::kReasonApplicationClocks, "application_clocks", false},
    Reason{abi::kReasonSoftwarePowerCap, "software_power_cap", false},
    Reason{abi::kReasonHardwareSlowdown, "hardware_slowdown", true},
    Reason{abi::kReasonSyncBoost, "sync_boost", false},
    Reason{abi::kReasonSoftwareThermal, "software_thermal", true},
    Reason{abi::kReasonHardwareThermal, "hardware_thermal", true},
    Reason{abi::kReasonPowerBrake, "power_brake", true},
};

constexpr double kMostMoved = 0.03;  // of the clock within a block: more is another speed

std::vector<double> known_values(std::span<const HealthSample> samples,
                                 std::optional<double> HealthSample::*member) {
  std::vector<double> values;
  for (const HealthSample& sample : samples) {
    if (sample.*member) {
      values.push_back(*(sample.*member));
    }
  }
  return values;
}

void add_reading(engine::MonitoredBlock& block, const char* name, std::span<const double> values) {
  if (const std::optional<results::Reading> reading = results::summarize_reading(values)) {
    block.readings[name] = *reading;
  }
}

/// Judges the clock by its lowest and highest sample: a reading's ends are an interval.
void judge_clock(engine::MonitoredBlock& block, std::span<const double> hertz) {
  const std::optional<results::Reading> clock = results::summarize_reading(hertz);
  if (!clock || clock->n < 2 || clock->median <= 0.0) {
    return;
  }
  const auto [lowest, highest] = std::minmax_element(hertz.begin(), hertz.end());
  const double moved = (*highest - *lowest) / clock->median;
  block.readings["sm_clock_moved_ratio"] = {moved, moved, moved, clock->n};
  block.disturbed = block.disturbed || moved > kMostMoved;
}

void add_reasons(engine::MonitoredBlock& block, std::span<const HealthSample> samples) {
  const auto known = std::count_if(
      samples.begin(), samples.end(), [](const HealthSample& one) { return one.reasons; });
  if (known == 0) {
    return;
  }
  const auto share_of = [&](std::uint64_t bits) {
    const auto held =
        std::count_if(samples.begin(), samples.end(), [&](const HealthSample& sample) {
          return (sample.reasons.value_or(0) & bits) != 0;
        });
    const double share = static_cast<double>(held) / static_cast<double>(known);
    return results::Reading{share, share, share, static_cast<std::int64_t>(known)};
  };
  std::uint64_t disturbing = 0;
  for (const Reason& reason : kReasons) {
    disturbing |= reason.disturbs ? reason.bit : 0;
    if (const results::Reading share = share_of(reason.bit); share.median > 0.0) {
      block.readings[fmt::format("throttled.{}_ratio", reason.name)] = share;
    }
  }
  // Zero too is said, so that "not throttled" and "not known" are apart.
  const results::Reading throttled = share_of(disturbing);
  block.readings["throttled_ratio"] = throttled;
  block.disturbed = block.disturbed || throttled.median > 0.0;
}

}  // namespace

bool is_program_error(std::uint64_t xid) {
  // From NVIDIA's Xid catalogue. They are a graphics engine exception, a memory page fault, the
  // reset of a channel, preemptive cleanup after earlier errors, and two video exceptions.
  constexpr std::array<std::uint64_t, 6> kOfPrograms{13, 31, 43, 45, 68, 69};
  return std::find(kOfPrograms.begin(), kOfPrograms.end(), xid) != kOfPrograms.end();
}

engine::MonitoredBlock judged_block(std::span<const HealthSample> samples,
                                    const HealthErrors& before,
                                    const HealthErrors& after) {
  engine::MonitoredBlock block;
  const std::vector<double> hertz = known_values(samples, &HealthSample::sm_clock_hertz);
  add_reading(block, "sm_clock_hertz", hertz);
  judge_clock(block, hertz);
  add_reading(
      block, "memory_clock_hertz", known_values(samples, &HealthSample::memory_clock_hertz));
  add_reading(block, "power_watts", known_values(samples, &HealthSample::power_watts));
  add_reading(
      block, "temperature_celsius", known_values(samples, &HealthSample::temperature_celsius));
  add_reasons(block, samples);
  if (before.uncorrected && after.uncorrected && *after.uncorrected > *before.uncorrected) {
    block.fault = fmt::format("uncorrected errors of the GPU's memory: {}",
                              *after.uncorrected - *before.uncorrected);
  }
  for (const std::uint64_t xid : after.xids) {
    if (!is_program_error(xid)) {
      block.fault +=
          fmt::format("{}the driver reported Xid {}", block.fault.empty() ? "" : "; ", xid);
    }
  }
  return block;
}

std::optional<results::Reading> energy_per_execution(std::span<const EnergyMark> marks) {
  std::vector<double> joules;
  std::optional<EnergyMark> moved;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    // The counter is exact only when it moves: in between it shows an old value.
    if (marks[i].millijoules <= marks[i - 1].millijoules) {
      continue;
    }
    if (moved && marks[i].executions > moved->executions) {
      joules.push_back(static_cast<double>(marks[i].millijoules - moved->millijoules) * 1e-3 /
                       static_cast<double>(marks[i].executions - moved->executions));
    }
    moved = marks[i];
  }
  return results::summarize_reading(joules);
}

}  // namespace plumb::cuda
