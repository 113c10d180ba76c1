// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

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
