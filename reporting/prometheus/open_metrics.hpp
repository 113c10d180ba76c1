// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reporting/prometheus/gauge_family.hpp"
#include "reporting/prometheus/host_metrics.hpp"
#include "reporting/prometheus/metric_families.hpp"

namespace plumb::reporting {

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
