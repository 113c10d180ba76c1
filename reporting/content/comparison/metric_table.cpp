// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/metric_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

/// Returns the largest causes of each metric, a line each, and how many are left out.
std::vector<std::string> cause_texts(std::span<const analysis::MetricComparison> metrics) {
  constexpr std::size_t kShownCauses = 3;  // of a metric
  constexpr double kShownShare = 0.01;     // of a metric's change
  std::vector<std::string> texts;
  std::size_t left_out = 0;
  for (const analysis::MetricComparison& metric : metrics) {
    std::vector<analysis::Cause> causes = metric.causes;
    std::stable_sort(causes.begin(),
                     causes.end(),
                     [](const analysis::Cause& left, const analysis::Cause& right) {
                       return std::abs(left.share) > std::abs(right.share);
                     });
    std::size_t shown = 0;
    for (const analysis::Cause& cause : causes) {
      if (shown == kShownCauses || std::abs(cause.share) < kShownShare) {
        ++left_out;
        continue;
      }
      ++shown;
      texts.push_back(fmt::format("{}: {} ({:.0f} %): {}",
                                  metric.series,
                                  cause.cause,
                                  100.0 * cause.share,
                                  cause.evidence));
    }
  }
  if (left_out > 0) {
    texts.push_back(fmt::format("and {} smaller causes, all of them with --json", left_out));
  }
  return texts;
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
         text_cell(page.extent() == Extent::kTerminal ? reason_text(*metric) : why_text(*metric))});
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

void add_short_metrics(std::span<const analysis::MetricComparison> metrics,
                       const std::map<std::string, std::string>& places,
                       Page& page) {
  constexpr std::size_t kQuietDetails = 10;
  MetricList shown;
  std::size_t quiet = 0;
  for (const analysis::MetricComparison& metric : metrics) {
    const bool output = metric.kind == analysis::MetricKind::kAccuracy;
    const bool settled = !is_changed(metric) && !metric.levels;
    if (settled && (output || (analysis::is_detail(metric) && ++quiet > kQuietDetails))) {
      continue;
    }
    shown.push_back(&metric);
  }
  add_metric_table(shown, places, page);
  if (quiet > kQuietDetails) {
    page.paragraph(
        fmt::format("and {} more metrics of layers without a change, all of them with --json",
                    quiet - kQuietDetails));
  }
  page.list(cause_texts(metrics));
}

}  // namespace plumb::reporting
