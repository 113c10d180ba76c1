// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/results/labels/run_labels.hpp"
#include "harness/results/series/series_name.hpp"
#include "reporting/content/comparison/comparison_report.hpp"
#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/store/store_pages.hpp"
#include "reporting/document/ratio_plot.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kExtremes = 10;
constexpr std::size_t kMaxChanged = 200;
constexpr std::size_t kMaxStrips = 30;

/// Returns how many rows a table has on a page.
std::size_t most_rows(const Page& page) {
  return page.extent() == Extent::kPage ? 200 : page.extent() == Extent::kComment ? 20 : 10;
}

/// Adds a table of as many rows as the page has room for, and how many are left out.
void add_limited(const PageRow& head, std::vector<PageRow> rows, Page& page) {
  const std::size_t all = rows.size();
  rows.resize(std::min(all, most_rows(page)));
  page.table(head, rows);
  if (all > rows.size()) {
    page.paragraph(fmt::format("and {} more, all of them with --json", all - rows.size()));
  }
}

using Row = PageRow;

/// Adds a row for each label that a run has: commits as links where they have an address.
void add_labels(const analysis::ComparisonReport& report, std::vector<Row>& rows) {
  const results::RunLabels before = results::run_labels(report.baseline.header.environment);
  const results::RunLabels after = results::run_labels(report.candidate.header.environment);
  results::RunLabels all = before;
  all.insert(after.begin(), after.end());
  for (const auto& [name, value] : all) {
    Row row{text_cell(name)};
    for (const results::RunLabels* const labels : {&before, &after}) {
      const auto found = labels->find(name);
      const std::string text = found == labels->end() ? "–" : found->second;
      row.push_back(name == "commit" && found != labels->end()
                        ? link_cell(results::short_commit(text), report.commits.address(text))
                        : text_cell(text));
    }
    rows.push_back(std::move(row));
  }
}

std::string summary_text(const analysis::ComparisonReport& report, const Page& page) {
  const analysis::RunComparison& comparison = report.comparison;
  std::string summary = counts_text(verdict_counts(comparison.metrics)) + ".";
  if (!report.source) {
    summary += fmt::format(" {:.2f} % between processes ({}).",
                           100.0 * comparison.deviation.relative,
                           deviation_source(comparison.deviation));
  }
  const std::string floors = floors_text(comparison.metrics);
  if (page.extent() == Extent::kTerminal && !floors.empty()) {
    summary += " " + floors + ".";  // elsewhere a part of the method
  }
  if (comparison.overall) {
    summary += fmt::format(" {}.", overall_text(*comparison.overall));
  }
  return summary;
}

void add_sides(const analysis::ComparisonReport& report, PagePlace place, Page& page) {
  std::vector<Row> rows;
  if (report.source) {
    if (page.extent() == Extent::kComment) {  // the titles of others have the name
      page.paragraph(report.source->name + ".");
    }
    for (const analysis::EnvironmentDifference& fact : report.source->facts) {
      rows.push_back({text_cell(fact.name), text_cell(fact.baseline), text_cell(fact.candidate)});
    }
  } else if (page.extent() != Extent::kTerminal) {  // its title names both runs
    const auto add = [&](const char* name, const auto& text) {
      rows.push_back({text_cell(name),
                      text_cell(text(report.baseline.header)),
                      text_cell(text(report.candidate.header))});
    };
    add("run", [](const results::RunHeader& run) { return run.id; });
    add("suite", [](const results::RunHeader& run) { return run.suite; });
    add("stack", [](const results::RunHeader& run) { return run.stack; });
    add("environment", [](const results::RunHeader& run) { return run.environment.id(); });
    add("started", [](const results::RunHeader& run) { return to_text(run.started); });
    if (place == PagePlace::kServer) {
      for (const std::size_t column : {1U, 2U}) {
        rows[0][column] = link_cell(rows[0][column].text, run_address(rows[0][column].text));
      }
    }
    add_labels(report, rows);
  }
  if (!rows.empty()) {
    page.table({text_cell(""), text_cell("baseline"), text_cell("candidate")}, rows);
  }
}

void add_changes(const analysis::ComparisonReport& report, Page& page) {
  if (page.extent() == Extent::kTerminal) {
    page.heading("Metrics");
    add_short_metrics(report.comparison.metrics, report.places, page);
    return;
  }
  page.heading("What changed");
  MetricList changed = changed_metrics(report.comparison.metrics);
  if (changed.empty()) {
    page.paragraph(
        "This comparison found no change. The column 'detectable' shows the smallest change that "
        "it would have found.");
    return;
  }
  const std::size_t all = changed.size();
  changed.resize(std::min<std::size_t>(all, kMaxChanged));
  add_metric_table(changed, report.places, page);
  if (all > changed.size()) {
    page.paragraph(fmt::format("and {} more", all - changed.size()));
  }
}

/// Adds the reasons: findings, then the split of each model whose end-to-end time changed.
void add_explanations(const analysis::ComparisonReport& report, Page& page) {
  const analysis::RunComparison& comparison = report.comparison;
  std::vector<const analysis::RunComparison::Attribution*> splits;
  for (const analysis::RunComparison::Attribution& split : comparison.attributions) {
    if (std::any_of(comparison.metrics.begin(), comparison.metrics.end(), [&](const auto& metric) {
          return page.extent() == Extent::kPage && is_changed(metric) &&
                 metric.kind == analysis::MetricKind::kEndToEnd && metric.model == split.subject &&
                 results::parse_series(metric.series).mode == split.mode;
        })) {
      splits.push_back(&split);
    }
  }
  if (splits.empty() && comparison.findings.empty()) {
    return;
  }
  page.heading("Where it comes from");
  add_findings(comparison.findings, report.places, page);
  for (const analysis::RunComparison::Attribution* split : splits) {
    add_attribution(*split, report.places, page);
  }
}

void add_functions_inside(const analysis::ComparisonReport& report, Page& page) {
  if (!report.functions.empty()) {
    page.heading("Inside what changed");
    add_functions(report.functions, report.places, page);
  }
  if (!report.profile_with.empty()) {
    page.command("To name the functions inside what changed", report.profile_with);
  }
}

void add_unchanged_models(const analysis::ComparisonReport& report, Page& page) {
  MetricList models;
  for (const analysis::MetricComparison& metric : report.comparison.metrics) {
    if (!is_changed(metric) && !analysis::is_detail(metric)) {
      models.push_back(&metric);
    }
  }
  if (!models.empty()) {
    page.begin_fold("Models without a change", false);
    add_metric_table(models, report.places, page);
    page.end_fold();
  }
}

void add_every_model(const analysis::ComparisonReport& report, Page& page) {
  std::map<std::string, MetricList> models;
  for (const analysis::MetricComparison& metric : report.comparison.metrics) {
    if (!metric.model.empty()) {
      models[metric.model].push_back(&metric);
    }
  }
  if (!models.empty()) {
    page.heading("Model by model");
  }
  for (const auto& [model, metrics] : models) {
    page.subheading(model);
    add_metric_table(metrics, report.places, page);
  }
}

void add_layers(const analysis::ComparisonReport& report, Page& page) {
  const MetricList layers = extreme_layers(report.comparison.metrics, kExtremes);
  if (layers.empty()) {
    return;
  }
  const auto all = std::count_if(
      report.comparison.metrics.begin(), report.comparison.metrics.end(), [](const auto& metric) {
        return metric.kind == analysis::MetricKind::kLayer && metric.ratio;
      });
  page.heading("Layers");
  page.paragraph(
      fmt::format("{} of {} layers with a time in both runs: the largest slow-downs and speed-ups, "
                  "changed or not.",
                  layers.size(),
                  all));
  add_metric_table(layers, report.places, page);
}

void add_not_compared(const analysis::ComparisonReport& report, Page& page) {
  const std::vector<analysis::RunComparison::NotCompared>& all = report.comparison.not_compared;
  if (all.empty()) {
    return;
  }
  page.heading("Not compared");
  page.paragraph(fmt::format("{} failed in the same way in both runs.", all.size()));
  std::vector<Row> rows;
  rows.reserve(all.size());
  for (const analysis::RunComparison::NotCompared& each : all) {
    rows.push_back({code_cell(each.series), text_cell(failures_text(each))});
  }
  add_limited({text_cell("metric"), text_cell("failure")}, std::move(rows), page);
}

void add_exclusions(const analysis::ComparisonReport& report, Page& page) {
  if (report.exclusions.empty()) {
    return;
  }
  page.heading("Excluded by the suite");
  page.paragraph("The verdict leaves these cases out. They were measured nevertheless.");
  std::vector<Row> rows;
  MetricList metrics;
  for (const analysis::ComparisonReport::AppliedExclusion& each : report.exclusions) {
    rows.push_back(
        {code_cell(each.exclusion.match),
         text_cell(each.exclusion.reason),
         text_cell(each.exclusion.who),
         each.expired ? word_cell(each.exclusion.until + ", expired", PageCell::Tone::kBad)
                      : text_cell(each.exclusion.until),
         text_cell(each.metrics.empty() ? "nothing" : counts_text(verdict_counts(each.metrics)))});
    for (const analysis::MetricComparison& metric : each.metrics) {
      if (metrics.size() < kMaxChanged) {
        metrics.push_back(&metric);
      }
    }
  }
  add_limited({text_cell("case"),
               text_cell("reason"),
               text_cell("who"),
               text_cell("until"),
               text_cell("covers")},
              std::move(rows),
              page);
  if (page.extent() == Extent::kPage && !metrics.empty()) {
    add_metric_table(metrics, report.places, page);
  }
}

void add_samples(const analysis::ComparisonReport& report, Page& page) {
  if (report.samples.empty()) {
    return;
  }
  page.heading("Raw times of what changed");
  for (std::size_t i = 0; i < std::min(report.samples.size(), kMaxStrips); ++i) {
    const analysis::ComparisonReport::Samples& samples = report.samples[i];
    const std::string picture = sample_strips(samples.baseline, samples.candidate);
    if (!picture.empty()) {
      page.subheading(samples.series);
      page.drawing(picture);
    }
  }
  if (report.samples.size() > kMaxStrips) {
    page.paragraph(fmt::format("and {} more", report.samples.size() - kMaxStrips));
  }
}

void add_outputs(const analysis::ComparisonReport& report, Page& page) {
  const std::string text = outputs_text(report.comparison.metrics);
  if (text.empty()) {
    return;
  }
  page.heading("Outputs");
  page.paragraph(text + ".");
  std::vector<Row> rows;
  for (const analysis::MetricComparison& metric : report.comparison.metrics) {
    const bool drifted = metric.kind == analysis::MetricKind::kAccuracy &&
                         (!metric.output || !metric.output->same_bits);
    if (drifted && page.extent() == Extent::kPage && rows.size() < kMaxChanged) {
      rows.push_back({word_cell(std::string(to_text(metric.verdict)), tone_of(metric.verdict)),
                      code_cell(metric.series),
                      text_cell(metric.reason)});
    }
  }
  if (!rows.empty()) {
    page.table({text_cell("verdict"), text_cell("output"), text_cell("why")}, rows);
  }
}

void add_environment(const analysis::ComparisonReport& report, Page& page) {
  if (report.source && report.environment_diff.empty()) {
    return;  // nothing is known of it
  }
  page.begin_fold("Environment", false);
  std::vector<Row> rows;
  for (const analysis::EnvironmentDifference& difference : report.environment_diff) {
    rows.push_back({text_cell(difference.name),
                    text_cell(difference.baseline.empty() ? "–" : difference.baseline),
                    text_cell(difference.candidate.empty() ? "–" : difference.candidate),
                    text_cell(difference.identity ? "identity" : "recorded")});
  }
  if (rows.empty()) {
    page.paragraph("No fact differs.");
  } else {
    page.table({text_cell("fact"), text_cell("baseline"), text_cell("candidate"), text_cell("")},
               rows);
  }
  page.end_fold();
}

/// Adds a comparison: on a page all of it, in a comment what a reviewer reads, and on a terminal
/// the verdict and its reasons.
void add_comparison(const analysis::ComparisonReport& report, PagePlace place, Page& page) {
  const analysis::ComparisonVerdict verdict = report.comparison.verdict;
  if (page.extent() == Extent::kTerminal) {
    page.paragraph(summary_text(report, page));  // the title has the verdict
  } else {
    page.verdict(std::string(to_text(verdict)) + ".", summary_text(report, page), tone_of(verdict));
  }
  add_sides(report, place, page);
  add_changes(report, page);
  add_explanations(report, page);
  add_functions_inside(report, page);
  if (page.extent() == Extent::kPage) {
    add_every_model(report, page);
    add_layers(report, page);
  }
  add_not_compared(report, page);
  add_exclusions(report, page);
  if (page.extent() == Extent::kPage) {
    add_samples(report, page);
  }
  add_outputs(report, page);
  add_environment(report, page);
  if (page.extent() == Extent::kComment) {
    add_unchanged_models(report, page);
  }
  if (page.extent() == Extent::kPage) {
    page.heading("Method");
    page.paragraph(method_text(report));
  }
  if (page.extent() != Extent::kTerminal) {
    page.command("The same again", command_text(report));
  }
}

}  // namespace

void write_comparison_page(const analysis::ComparisonReport& report,
                           PagePlace place,
                           std::ostream& out) {
  HtmlPage page(title_text(report));
  if (place == PagePlace::kServer) {
    page.link("all models and runs", "/");
  }
  add_comparison(report, place, page);
  page.write(out);
}

void write_comparison_markdown(const analysis::ComparisonReport& report, std::ostream& out) {
  MarkdownPage page(fmt::format("Plumbline: {}", to_text(report.comparison.verdict)));
  add_comparison(report, PagePlace::kFile, page);
  page.write(out);
}

void write_comparison_text(const analysis::ComparisonReport& report, std::ostream& out) {
  TextPage page(fmt::format(
      "{}: {}",
      report.source ? report.source->name
                    : fmt::format("{} → {}", report.baseline.header.id, report.candidate.header.id),
      to_text(report.comparison.verdict)));
  add_comparison(report, PagePlace::kFile, page);
  page.write(out);
}

}  // namespace plumb::reporting
