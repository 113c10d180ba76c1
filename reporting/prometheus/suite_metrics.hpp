// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/base/timestamp.hpp"
#include "reporting/prometheus/run_metrics.hpp"

namespace plumb::reporting {

/// Returns a moment as Prometheus writes it: seconds since 1970 UTC.
[[nodiscard]] inline double unix_seconds(Timestamp time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

/// Adds a label unless it is empty: to Prometheus an empty label is none.
inline void add_label(MetricLabels& labels, std::string_view name, std::string value) {
  if (!value.empty()) {
    labels.push_back({std::string(name), std::move(value)});
  }
}

/// Metrics of one family of gauges.
class GaugeFamily {
 public:
  using More = std::initializer_list<std::pair<std::string_view, std::string>>;

  GaugeFamily(std::string_view name, std::string_view help)
      : family_{std::string(name), std::string(help), prometheus::MetricType::Gauge, {}} {}

  /// Adds one metric with the labels of `base` and then `more`.
  void add(const MetricLabels& base, More more, double value) {
    prometheus::ClientMetric& metric = family_.metric.emplace_back();
    metric.label.reserve(base.size() + more.size());
    metric.label = base;
    for (const auto& [name, text] : more) {
      add_label(metric.label, name, text);
    }
    metric.gauge.value = value;
  }

  [[nodiscard]] prometheus::MetricFamily& family() { return family_; }

 private:
  prometheus::MetricFamily family_;
};

/// One row of a table of metrics. A new metric is one function and one row.
template <typename Entry>
struct MetricRow {
  std::string_view name;
  std::string_view help;
  void (*add)(const Entry& entry, GaugeFamily& family);
};

inline constexpr std::size_t kLabelBytes = 100;

/// Makes text from a model, a library or a file fit for a label: printable UTF-8 on one line. It
/// has at most `most` bytes, which are 16 or more. A longer text ends in '~' and a hash of the
/// whole, so that different texts stay different.
[[nodiscard]] std::string label_text(const std::string& text, std::size_t most = kLabelBytes);

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
