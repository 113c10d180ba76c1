// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/run_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {
namespace {

/// Returns whether a fact is one of `names` or below one ("driver" covers "driver.model").
bool is_among(const std::string& fact, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return fact.starts_with(name) && (fact.size() == name.size() || fact[name.size()] == '.');
  });
}

// Beside what is of the stack.
constexpr std::array<std::string_view, 2> kUpgradedOrEqual{"driver", "gpu.uuid"};
constexpr std::array<std::string_view, 6> kNotTheMachine{
    "driver", "backend", "threads", "method", "cache", "gpu.uuid"};
constexpr std::array<std::string_view, 7> kNoDrift{
    "stack", "plumb", "boot", "worker", "backend", "label", "gpu.index"};

/// Returns the identity without what is of the stack, and without these names.
results::Environment without_stack(const results::Environment& environment,
                                   std::span<const std::string_view> names) {
  results::Environment rest;
  for (const auto& [name, value] : environment.identity) {
    if (!results::is_of_stack(name) && !is_among(name, names)) {
      rest.identity.emplace(name, value);
    }
  }
  return rest;
}

}  // namespace

results::Facts system_identity(const results::Environment& environment) {
  return without_stack(environment, kNotTheMachine).identity;
}

std::string system_id(const results::Environment& environment) {
  return without_stack(environment, kNotTheMachine).id();
}

RunSeries run_series_of(const results::RunHeader& header) {
  return {header.suite,
          header.backend,
          header.stack,
          results::fact_of(header.environment.identity, "threads"),
          system_id(header.environment)};
}

bool are_comparable(const results::Environment& one, const results::Environment& other) {
  return without_stack(one, kUpgradedOrEqual).identity ==
         without_stack(other, kUpgradedOrEqual).identity;
}

std::vector<EnvironmentDifference> environment_drift(const results::Environment& before,
                                                     const results::Environment& after) {
  std::vector<EnvironmentDifference> drift = environment_changes(before, after);
  std::erase_if(drift, [](const EnvironmentDifference& difference) {
    return results::is_of_stack(difference.name) || is_among(difference.name, kNoDrift);
  });
  return drift;
}

std::vector<EnvironmentDifference> environment_changes(const results::Environment& before,
                                                       const results::Environment& after) {
  std::vector<EnvironmentDifference> changes = environment_diff(before, after);
  std::erase_if(
      changes, [](const EnvironmentDifference& difference) { return is_reading(difference.name); });
  return changes;
}

namespace {

using HostId = std::pair<ControlClass, std::string>;
using HostReadings = std::map<HostId, std::vector<const HostReading*>>;

/// Groups the newest readings by host.
HostReadings group_by_host(std::span<const HostReading> newest_first) {
  HostReadings hosts;
  for (const HostReading& reading : newest_first) {
    std::vector<const HostReading*>& own = hosts[{reading.of, reading.controls.host}];
    if (own.size() < kReadingsOfHost) {
      own.push_back(&reading);
    }
  }
  return hosts;
}

Seconds compute_median(std::span<const HostReading* const> readings,
                       Seconds results::Controls::*time) {
  std::vector<Seconds> times;
  for (const HostReading* const reading : readings) {
    times.push_back(reading->controls.*time);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::optional<double> compute_noise(std::span<const HostReading* const> readings) {
  if (readings.size() < kMinReadings) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(readings.size());
  double sum = 0.0;
  double squares = 0.0;
  for (const HostReading* const reading : readings) {
    // Relative to the newest, so that squares of small differences are summed.
    const double log = std::log(reading->controls.product / readings.front()->controls.product);
    sum += log;
    squares += log * log;
  }
  return std::sqrt(std::max(0.0, (squares - sum * sum / count) / (count - 1.0)));
}

}  // namespace

ControlClass control_class_of(const results::RunHeader& header) {
  const results::Facts& identity = header.environment.identity;
  return {system_id(header.environment),
          header.backend,
          results::fact_of(identity, "threads"),
          results::fact_of(identity, "method")};
}

ClassControls compute_class_controls(std::span<const HostReading> newest_first) {
  std::map<ControlClass, std::vector<const HostReading*>> readings;
  for (const auto& [host, own] : group_by_host(newest_first)) {
    std::vector<const HostReading*>& all = readings[host.first];
    all.insert(all.end(), own.begin(), own.end());
  }
  ClassControls classes;
  for (const auto& [name, all] : readings) {
    if (all.size() >= kMinReadings) {
      results::Controls& controls = classes[name];
      for (const results::ControlTime& control : results::kControlTimes) {
        controls.*control.time = compute_median(all, control.time);
      }
    }
  }
  return classes;
}

std::string find_class_drift(const HostReading& reading, const ClassControls& classes) {
  const auto found = classes.find(reading.of);
  return found == classes.end()
             ? ""
             : find_control_difference(found->second, reading.controls, kControlLimit).value_or("");
}

std::vector<HostHealth> compute_host_health(std::span<const HostReading> newest_first,
                                            const ClassControls& classes) {
  std::vector<HostHealth> hosts;
  for (const auto& [id, readings] : group_by_host(newest_first)) {
    HostHealth& host = hosts.emplace_back();
    host.newest = *readings.front();
    if (const auto found = classes.find(id.first); found != classes.end()) {
      host.of_class = found->second;
    }
    host.noise = compute_noise(readings);
    host.drift = find_class_drift(host.newest, classes);
  }
  return hosts;
}

}  // namespace plumb::analysis
