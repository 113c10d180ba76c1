// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Identity of the series to which a run belongs: one suite with one stack on one machine. `stack`
/// is the stack's name, so that the series continues when the library behind it is upgraded.
struct RunSeries {
  std::string suite;
  std::string backend;
  std::string stack;
  std::string threads;
  std::string system;  ///< see system_id()

  auto operator<=>(const RunSeries&) const = default;
};
[[nodiscard]] RunSeries run_series_of(const results::RunHeader& header);

/// Returns the part of an environment's identity that is of the machine. It leaves out the stack,
/// the driver, the backend, the thread count, the method, the cache, and which of several equal
/// GPUs was measured.
[[nodiscard]] results::Facts system_identity(const results::Environment& environment);
/// Returns the identity of the machine as 16 hex digits: that of its system_identity().
[[nodiscard]] std::string system_id(const results::Environment& environment);

/// Returns whether two runs of one series may be compared. Their identities may differ only in the
/// stack and the driver, whose changes a series is meant to show, and in which of several equal
/// GPUs was measured.
[[nodiscard]] bool are_comparable(const results::Environment& one,
                                  const results::Environment& other);

/// Lists the facts that changed between two runs, without those that environment_changes() leaves
/// out. Changes of the library, the stack, the boot, the worker, the backend and Plumbline itself
/// are left out too.
[[nodiscard]] std::vector<EnvironmentDifference> environment_drift(
    const results::Environment& before, const results::Environment& after);

/// Lists every fact that changed between two runs, except readings of the moment (is_reading()):
/// load, clocks and the harness overhead. Where a series changes, one of these facts may be why.
[[nodiscard]] std::vector<EnvironmentDifference> environment_changes(
    const results::Environment& before, const results::Environment& after);

/// Identity of the machines that should be equally fast: equal hardware, measured alike.
struct ControlClass {
  std::string system;  ///< see system_id()
  std::string backend;
  std::string threads;
  std::string method;

  auto operator<=>(const ControlClass&) const = default;
};
[[nodiscard]] ControlClass control_class_of(const results::RunHeader& header);

/// Controls of one host in one finished run.
struct HostReading {
  ControlClass of;
  results::RunId run;
  Timestamp started{};
  std::optional<Timestamp> finished;
  results::Controls controls;  ///< with the host's name; empty: the run does not say it
};

/// Newest readings of each host that count.
inline constexpr std::size_t kReadingsOfHost = 10;
/// Readings below which a class has no controls, and a host has no noise.
inline constexpr std::size_t kMinReadings = 4;

/// Controls of each class: the medians over the newest readings of its hosts.
using ClassControls = std::map<ControlClass, results::Controls>;
[[nodiscard]] ClassControls compute_class_controls(std::span<const HostReading> newest_first);

/// Returns why a reading left its class: a control differs by more than kControlLimit allows.
/// Empty: it is in its class, or the class has no controls. Pure.
[[nodiscard]] std::string find_class_drift(const HostReading& reading,
                                           const ClassControls& classes);

/// Health of one host by its newest finished run that measured controls.
struct HostHealth {
  HostReading newest;
  std::optional<results::Controls> of_class;  ///< absent: the class has too few readings
  std::optional<double> noise;  ///< standard deviation of ln(product) over the newest readings
  std::string drift;            ///< see find_class_drift()
};
/// Lists each host once, in order of class and name. Pure.
[[nodiscard]] std::vector<HostHealth> compute_host_health(std::span<const HostReading> newest_first,
                                                          const ClassControls& classes);

}  // namespace plumb::analysis
