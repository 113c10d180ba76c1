// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/document/csv_text.hpp"

namespace plumb::reporting {
namespace {

void write_metric(const analysis::MetricComparison& metric,
                  const std::string& excluded,
                  std::ostream& out) {
  const bool compared = metric.ratio.has_value();
  const auto known = [](bool is_known, double value) {
    return csv_number(is_known ? std::optional(value) : std::nullopt);
  };
  out << csv_row({metric.series,
                  std::string(to_text(metric.kind)),
                  metric.model,
                  metric.in_bytes ? "bytes" : "seconds",
                  known(compared, metric.baseline),
                  known(compared, metric.candidate),
                  csv_number(metric.ratio),
                  known(compared && metric.has_interval, metric.low),
                  known(compared && metric.has_interval, metric.high),
                  csv_number(metric.q),
                  csv_number(metric.mde),
                  std::string(to_text(metric.verdict)),
                  metric.decides ? "yes" : "no",
                  metric.reason,
                  excluded});
}

}  // namespace

void write_comparison_csv(const analysis::RunComparisonReport& report, std::ostream& out) {
  out << csv_row({"series",
                  "kind",
                  "model",
                  "unit",
                  "baseline",
                  "candidate",
                  "ratio",
                  "low",
                  "high",
                  "q",
                  "mde",
                  "verdict",
                  "decides",
                  "reason",
                  "excluded"});
  for (const analysis::MetricComparison& metric : report.comparison.metrics) {
    write_metric(metric, "", out);
  }
  for (const analysis::AppliedExclusion& each : report.exclusions) {
    for (const analysis::MetricComparison& metric : each.metrics) {
      write_metric(metric, each.exclusion.reason, out);
    }
  }
}

}  // namespace plumb::reporting
