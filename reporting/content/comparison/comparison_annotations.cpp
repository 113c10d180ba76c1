// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kAtMost = 10;  // GitHub shows ten of a kind for a step

/// Escapes the characters that end a workflow command or one of its properties.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : sanitize_utf8(text)) {
    switch (c) {
      case '%':
        safe += "%25";
        break;
      case ':':
        safe += "%3A";
        break;
      case ',':
        safe += "%2C";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string command(std::string_view kind, const std::string& title, const std::string& text) {
  return fmt::format("::{} title={}::{}\n", kind, escaped(title), escaped(text));
}

std::string annotation(const analysis::MetricComparison& metric,
                       std::string_view kind,
                       const analysis::RunComparisonReport& report) {
  const std::string key = analysis::layer_key_of(metric);
  const auto place = report.places.find(key);
  const std::string name = place == report.places.end() ? metric.series : place->second;
  std::string text = key.empty() ? metric.series : key;
  if (metric.ratio) {
    text += fmt::format(" {} → {}, {} ({})",
                        baseline_text(metric),
                        candidate_text(metric),
                        ratio_change_text(metric),
                        change_interval_text(metric));
  }
  const std::string why = why_text(metric);
  return command(kind,
                 fmt::format("{} {}: {}", to_text(metric.kind), to_text(metric.verdict), name),
                 why.empty() ? text : text + "; " + why);
}

}  // namespace

void write_comparison_annotations(const analysis::RunComparisonReport& report, std::ostream& out) {
  const MetricList changed = changed_metrics(report.comparison.metrics);
  for (const bool worse : {true, false}) {
    const std::string_view kind = worse ? "error" : "notice";
    const auto all = static_cast<std::size_t>(std::count_if(
        changed.begin(), changed.end(), [&](const auto* m) { return is_worse(*m) == worse; }));
    std::size_t written = 0;
    for (const analysis::MetricComparison* metric : changed) {
      if (is_worse(*metric) == worse) {
        if (all > kAtMost && written + 1 == kAtMost) {
          out << command(kind,
                         fmt::format("and {} more", all - written),
                         fmt::format("{} of {} are listed", written, all));
          break;
        }
        out << annotation(*metric, kind, report);
        ++written;
      }
    }
  }
  if (report.comparison.verdict == analysis::ComparisonVerdict::kInconclusive) {
    out << command(
        "warning", "not enough evidence", counts_text(verdict_counts(report.comparison.metrics)));
  }
}

}  // namespace plumb::reporting
