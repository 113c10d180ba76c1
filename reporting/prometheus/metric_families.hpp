// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/analysis/history/run_series.hpp"
#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::reporting {

/// Metrics of one model from its newest run. Refers to the SuiteMetrics it came from.
struct ModelMetrics {
  MetricLabels labels;  ///< that all its metrics have
  const analysis::ModelBounds* bounds = nullptr;
  const analysis::ModelWhatIfs* whatifs = nullptr;
  const RunMetrics::ModelTimes* times = nullptr;
  std::vector<const analysis::ModelRegression*> regressions;
};
/// Lists each model once, with the values of the run that started last.
[[nodiscard]] std::vector<ModelMetrics> list_model_metrics(std::span<const SuiteMetrics> suites);

/// Lists the metrics that each model has.
[[nodiscard]] std::span<const MetricRow<ModelMetrics>> model_metric_table();

/// Lists the metrics of a model's loads by MLPerf's scenarios.
[[nodiscard]] std::span<const MetricRow<ModelMetrics>> load_metric_table();

/// Returns the model name of the GPU, or else of the CPU, short enough for a label.
[[nodiscard]] std::string device_name(const results::Environment& environment);

/// State of the exporter itself.
struct StoreHealth {
  bool up = false;
  std::optional<Timestamp> last_success;
  std::optional<Seconds> rebuild;
  std::size_t series = 0;
  std::size_t runs = 0;
  std::size_t unreadable_runs = 0;
  std::string version;  ///< of plumb
};

/// Receiver of one family after the other. It may move from them.
using FamilySink = std::function<void(prometheus::MetricFamily&&)>;

/// Makes the metrics of docs/reference/metrics.md, one family at a time. So a large store is never
/// in memory twice. Families without a metric are left out. A model that several suites measured
/// has the values of the run that started last. Gauges are in base units. What is not known has no
/// metric. Pure.
void metric_families(std::span<const SuiteMetrics> suites, const FamilySink& sink);

/// Makes the metric that names this program's version.
[[nodiscard]] prometheus::MetricFamily build_info(const std::string& version);

/// Makes the metrics about the store and this program. Pure.
[[nodiscard]] std::vector<prometheus::MetricFamily> health_families(const StoreHealth& health);

/// Present health of one host, with what its newest run measured.
struct HostMetrics {
  analysis::HostHealth health;
  std::string device;  ///< see device_name()
  std::string suite;   ///< of the newest run
  std::string stack;
};

/// Makes the metrics of hosts. Families without a metric are left out. Pure.
[[nodiscard]] std::vector<prometheus::MetricFamily> host_families(
    std::span<const HostMetrics> hosts);

/// History of metrics that is written as one OpenMetrics document, every series in order of time.
/// `promtool tsdb create-blocks-from openmetrics` reads it.
class OpenMetricsHistory {
 public:
  /// Starts a history whose series all have the labels `common` as well, as scraping adds job and
  /// instance.
  explicit OpenMetricsHistory(MetricLabels common = {}) : common_(std::move(common)) {}

  /// Adds the state that held from `from` until `until`. Throws Error{kUser} if a series has one of
  /// the common labels already.
  void add(std::span<const SuiteMetrics> suites, Timestamp from, Timestamp until);
  void add(std::span<const HostMetrics> hosts, Timestamp from, Timestamp until);

  /// Writes each value once or, with `step`, again and again while it held, as scraping would have.
  /// Returns the number of samples.
  std::size_t write(std::ostream& out, std::optional<std::chrono::microseconds> step);

 private:
  struct Point {
    Timestamp from;
    Timestamp until;
    double value = 0.0;
  };
  struct Family {
    std::string help;
    std::map<std::string, std::vector<Point>> series;  ///< by labels as they are written
  };
  void add(const prometheus::MetricFamily& given, Timestamp from, Timestamp until);

  MetricLabels common_;
  std::vector<std::string> order_;  ///< of families, as they came first
  std::unordered_map<std::string, Family> families_;
};

}  // namespace plumb::reporting
