// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/regression_state.hpp"
#include "harness/analyze/run_series.hpp"
#include "reporting/prometheus/run_metrics.hpp"

namespace plumb {

/// Present state of one series of runs.
struct SuiteMetrics {
  RunSeries series;
  std::string device;                        ///< see device_name()
  std::shared_ptr<const RunMetrics> newest;  ///< finished; null: none is, or it cannot be read
  std::vector<ModelRegression> regressions;  ///< of the newest run's models
  std::optional<bool> environment_changed;   ///< against the run before; absent: there is none
  std::optional<Timestamp> unfinished;       ///< start of a later run that has not finished
};

/// Returns the processor's or GPU's model name, short enough for a label.
[[nodiscard]] std::string device_name(const Environment& environment);

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

/// Takes one family after the other; they may be moved from.
using FamilySink = std::function<void(prometheus::MetricFamily&&)>;

/// Makes the metrics of docs/reference/metrics.md, a family at a time, so that a large store is
/// never in memory twice; families without a metric are left out. A model that several suites
/// measured has the values of the run that started last. Gauges in base units; what is not known
/// has no metric. Pure.
void metric_families(std::span<const SuiteMetrics> suites, const FamilySink& sink);

/// Makes the metric that names this program's version.
[[nodiscard]] prometheus::MetricFamily build_info(const std::string& version);

/// Makes the metrics about the store and this program. Pure.
[[nodiscard]] std::vector<prometheus::MetricFamily> health_families(const StoreHealth& health);

}  // namespace plumb
