// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/prometheus/metric_families.hpp"

namespace plumb::reporting {

/// Returns the address of a run's report, or of a model's page.
[[nodiscard]] std::string run_address(const results::RunId& run);
[[nodiscard]] std::string model_address(const std::string& model);

/// Writes the page `/`: every model as its newest run has it, and the runs. Two runs can be chosen
/// and compared. `up`: the store could be read.
void write_overview_page(std::span<const results::RunRecord> runs,
                         std::span<const SuiteMetrics> suites,
                         bool up,
                         const results::CommitLink& commits,
                         std::ostream& out);

/// Writes the page of one model, as the newest run of each series has it. Returns false, and
/// writes nothing, if none has it.
bool write_model_page(const std::string& model,
                      std::span<const SuiteMetrics> suites,
                      std::ostream& out);

/// Writes a page with a message, in place of the page that was asked for.
void write_message_page(const std::string& title, const std::string& text, std::ostream& out);

/// Writes the page `/hosts`: each host that measures, with the age of its newest run and the state
/// of its controls. Those that left their class come first.
void write_hosts_page(std::span<const HostMetrics> hosts, Timestamp now, std::ostream& out);

/// History of a store's runs: what Grafana shows of them, for users who have only the store.
struct Dashboard {
  // Limits by which tiles are coloured, as in dashboards/grafana/dashboards.py.
  static constexpr double kNearBound = 0.8;     ///< of bound ÷ end to end: good from here on
  static constexpr double kFarFromBound = 0.5;  ///< bad below
  static constexpr Seconds kOldSuite = std::chrono::hours(36);  ///< of ages: a warning above

  std::vector<SuiteMetrics> present;  ///< of every series of runs
  std::vector<SuiteMetrics> points;   ///< a series after each of its finished runs, oldest first
  Timestamp now{};                    ///< injected: ages are relative to it
  std::string version;                ///< of plumb
  results::CommitLink commits = {};   ///< addresses of what the labels name
};

/// Writes one page that opens offline. It shows how far each model is from its bound, now and in
/// every run. It also shows what changed against the baseline, latencies over time, and the state
/// of every suite.
void write_dashboard(const Dashboard& dashboard, std::ostream& out);

}  // namespace plumb::reporting
