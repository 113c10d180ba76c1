// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::reporting {

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

}  // namespace plumb::reporting
