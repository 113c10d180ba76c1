// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/regression_state.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "reporting/prometheus/gauge_family.hpp"
#include "reporting/prometheus/run_metrics.hpp"

namespace plumb::reporting {

/// Present state of one series of runs.
struct SuiteMetrics {
  analysis::RunSeries series;
  std::string device;                                  ///< see device_name()
  std::shared_ptr<const RunMetrics> newest;            ///< newest finished run; null: none
  std::vector<analysis::ModelRegression> regressions;  ///< of the newest run's models
  std::optional<bool> environment_changed;  ///< against the run before; absent: there is none
  std::optional<Timestamp> unfinished;      ///< start of a later run that has not finished
  std::string drift = {};  ///< why the newest run is not compared: its host left its class
};

/// Adds the labels that all metrics of a series of runs have.
[[nodiscard]] MetricLabels suite_labels(const SuiteMetrics& suite);

/// Lists the series that have a finished run, the last started first.
[[nodiscard]] std::vector<const SuiteMetrics*> newest_first(std::span<const SuiteMetrics> suites);

/// Lists the metrics that each series of runs has.
[[nodiscard]] std::span<const MetricRow<SuiteMetrics>> suite_metric_table();

/// Returns a family with the environments, or the stacks, of the newest runs, each once. Their
/// facts can be joined on.
[[nodiscard]] GaugeFamily environment_info(std::span<const SuiteMetrics> suites);
[[nodiscard]] GaugeFamily stack_info(std::span<const SuiteMetrics> suites);

/// Lists the metrics of what the newest run of a series read of its device. A device without
/// readings has none of them.
[[nodiscard]] std::span<const MetricRow<SuiteMetrics>> device_metric_table();

}  // namespace plumb::reporting
