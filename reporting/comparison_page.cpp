// SPDX-License-Identifier: Apache-2.0
#include "reporting/comparison_page.hpp"

#include <fmt/format.h>

#include <ostream>
#include <vector>

#include "reporting/html_page.hpp"
#include "reporting/quantity_text.hpp"
#include "reporting/store_pages.hpp"

namespace plumb {
namespace {

constexpr std::size_t kQuietLayersShown = 10;

using Row = std::vector<HtmlCell>;

Row metric_row(const MetricComparison& metric) {
  const bool compared = metric.ratio.has_value();
  std::string why = metric.reason;
  for (const Cause& cause : metric.causes) {
    why += fmt::format("{}{} ({:.0f} %): {}",
                       why.empty() ? "" : "; ",
                       cause.cause,
                       100.0 * cause.share,
                       cause.evidence);
  }
  const auto percent = [](double ratio) { return fmt::format("{:+.2f} %", 100.0 * (ratio - 1.0)); };
  return {
      text_cell(std::string(to_text(metric.verdict))),
      text_cell(metric.series),
      number_cell(compared ? time_text(Seconds(metric.baseline)) : "–"),
      number_cell(compared ? time_text(Seconds(metric.candidate)) : "–"),
      number_cell(compared ? percent(*metric.ratio) : "–"),
      text_cell(compared ? fmt::format("{} … {}", percent(metric.low), percent(metric.high)) : "–"),
      text_cell(why)};
}

}  // namespace

void write_comparison_page(const RunComparisonReport& report, std::ostream& out) {
  const RunComparison& comparison = report.comparison;
  HtmlPage page(
      fmt::format("{} against {}", report.candidate.header.id, report.baseline.header.id));
  page.link("all models and runs", "/");
  const bool good = comparison.verdict == ComparisonVerdict::kImproved ||
                    comparison.verdict == ComparisonVerdict::kEquivalent;
  page.verdict(std::string(to_text(comparison.verdict)) + ".",
               fmt::format("Suite {}, stacks {} and {}; {:.2f} % between processes.",
                           report.candidate.header.suite,
                           report.baseline.header.stack,
                           report.candidate.header.stack,
                           100.0 * comparison.deviation.relative),
               !good);
  page.link("report of the baseline", run_address(report.baseline.header.id));
  page.link("report of the candidate", run_address(report.candidate.header.id));
  std::vector<Row> rows;
  for (const EnvironmentDifference& difference : report.environment_diff) {
    rows.push_back({text_cell(difference.name),
                    text_cell(difference.baseline),
                    text_cell(difference.candidate),
                    text_cell(difference.identity ? "identity" : "recorded")});
  }
  if (!rows.empty()) {
    page.heading("Environment");
    page.table({text_cell("fact"), text_cell("baseline"), text_cell("candidate"), text_cell("")},
               rows);
  }
  rows.clear();
  std::size_t quiet = 0;
  for (const MetricComparison& metric : comparison.metrics) {
    const bool unchanged = metric.verdict == ComparisonVerdict::kEquivalent ||
                           metric.verdict == ComparisonVerdict::kInconclusive;
    const bool layer = metric.kind == "layer" || metric.kind == "capability";
    if (!layer || !unchanged || ++quiet <= kQuietLayersShown) {
      rows.push_back(metric_row(metric));
    }
  }
  page.heading("What changed");
  page.table({text_cell("verdict"),
              text_cell("metric"),
              number_cell("baseline"),
              number_cell("candidate"),
              number_cell("change"),
              text_cell("95 %"),
              text_cell("why")},
             rows);
  if (quiet > kQuietLayersShown) {
    page.paragraph(fmt::format("and {} layers without a change", quiet - kQuietLayersShown));
  }
  page.write(out);
}

}  // namespace plumb
