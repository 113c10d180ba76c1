// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/metric_table.hpp"

#include <fmt/format.h>

#include "reporting/document/ratio_plot.hpp"

namespace plumb::reporting {
namespace {

/// Returns the name of a metric. A layer's name is its place and the command that measures it
/// again.
PageCell name_cell(const analysis::MetricComparison& metric,
                   const std::map<std::string, std::string>& places) {
  const std::string key = analysis::layer_key_of(metric);
  if (key.empty()) {
    return text_cell(metric.series);
  }
  PageCell cell =
      code_cell(named_key(key, places, key.starts_with("external:") ? key : layer_command(key)));
  cell.style = "layer-key";
  return cell;
}

}  // namespace

Tone tone_of(analysis::ComparisonVerdict verdict) {
  switch (verdict) {
    case analysis::ComparisonVerdict::kBroken:
    case analysis::ComparisonVerdict::kRegressed:
      return Tone::kBad;
    case analysis::ComparisonVerdict::kImproved:
    case analysis::ComparisonVerdict::kEquivalent:
      return Tone::kGood;
    case analysis::ComparisonVerdict::kInconclusive:
      return Tone::kWarning;
  }
  return Tone::kWarning;
}

void add_metric_table(const MetricList& metrics,
                      const std::map<std::string, std::string>& places,
                      Page& page) {
  const RatioPlot plot(metrics);
  std::vector<PageRow> rows;
  for (const analysis::MetricComparison* metric : metrics) {
    rows.push_back(
        {word_cell(std::string(to_text(metric->verdict)), tone_of(metric->verdict)),
         text_cell(std::string(to_text(metric->kind))),
         name_cell(*metric, places),
         number_cell(metric->ratio ? baseline_text(*metric) + " → " + candidate_text(*metric)
                                   : "–"),
         drawing_cell(
             plot.row(*metric),
             metric->ratio
                 ? fmt::format("{} ({})", ratio_change_text(*metric), change_interval_text(*metric))
                 : "–"),
         number_cell(detectable_text(*metric)),
         text_cell(why_text(*metric))});
  }
  page.table({text_cell("verdict"),
              text_cell("kind"),
              text_cell("metric"),
              number_cell("baseline → candidate"),
              drawing_cell(plot.axis(), "change (95 %)"),
              number_cell("detectable"),
              text_cell("why")},
             rows);
}

}  // namespace plumb::reporting
