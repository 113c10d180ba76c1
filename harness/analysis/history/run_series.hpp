// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"
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

/// Newest readings of each host that count.
inline constexpr std::size_t kReadingsOfHost = 10;
/// Readings below which a class has no controls, and a host has no noise.
inline constexpr std::size_t kMinReadings = 4;

/// Health of one host by its newest finished run that measured controls.
struct HostHealth {
  /// Identity of the machines that should be equally fast: equal hardware, measured alike.
  struct Class {
    std::string system;  ///< see system_id()
    std::string backend;
    std::string threads;
    std::string method;

    auto operator<=>(const Class&) const = default;
  };

  /// Controls of one host in one finished run.
  struct Reading {
    Class of;
    results::RunId run;
    Timestamp started{};
    std::optional<Timestamp> finished;
    results::Controls controls;  ///< with the host's name; empty: the run does not say it
  };

  Reading newest;
  std::optional<results::Controls> of_class;  ///< absent: the class has too few readings
  std::optional<double> noise;  ///< standard deviation of ln(product) over the newest readings
  std::string drift;            ///< see find_class_drift()
};

[[nodiscard]] HostHealth::Class control_class_of(const results::RunHeader& header);

/// Controls of each class: the medians over the newest readings of its hosts.
using ClassControls = std::map<HostHealth::Class, results::Controls>;

[[nodiscard]] ClassControls compute_class_controls(
    std::span<const HostHealth::Reading> newest_first);

/// Returns why a reading left its class: a control differs by more than kControlLimit allows.
/// Empty: it is in its class, or the class has no controls. Pure.
[[nodiscard]] std::string find_class_drift(const HostHealth::Reading& reading,
                                           const ClassControls& classes);
/// Lists each host once, in order of class and name. Pure.
[[nodiscard]] std::vector<HostHealth> compute_host_health(
    std::span<const HostHealth::Reading> newest_first, const ClassControls& classes);

/// Collects the times of a run's processes from its rows and its models' executions.
[[nodiscard]] LearnedNoise::RunTimes collect_run_times(const ResultSet& results,
                                                       std::span<const ModelBounds> models);

/// Returns times as the store keeps them: JSON.
[[nodiscard]] std::string to_json(const LearnedNoise::RunTimes& times);
/// Parses what to_json() wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] LearnedNoise::RunTimes run_times_from_json(std::string_view json);

/// Returns the index of the run in the middle of several. Runs are ordered by the mean of ln(time)
/// over the models' series, or without models over the layers'. Only series that every run has
/// count, and none of a model among its other shapes. Of an even number, it is the slower of the
/// two in the middle. Needs at least one run. Pure.
[[nodiscard]] std::size_t middle_run(std::span<const LearnedNoise::RunTimes> runs);

}  // namespace plumb::analysis
