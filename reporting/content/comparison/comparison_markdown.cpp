// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/comparison/attribution_rows.hpp"
#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/comparison/function_rows.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/document/markdown_text.hpp"

namespace plumb::reporting {
namespace {

constexpr const char* kHead =
    "| verdict | metric | baseline | candidate | change | 95 % | detectable | why |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n";

std::string metric_row(const analysis::MetricComparison& metric,
                       const analysis::RunComparisonReport& report) {
  const std::string key = analysis::layer_key_of(metric);
  const auto place = report.places.find(key);
  const std::string name =
      key.empty() ? markdown_cell(metric.series)
                  : (place == report.places.end() ? "" : markdown_cell(place->second) + " ") +
                        markdown_code(key);
  return fmt::format("| {} | {}{} | {} | {} | {} | {} | {} | {} |\n",
                     to_text(metric.verdict),
                     metric.kind == analysis::MetricKind::kCapability ||
                             metric.kind == analysis::MetricKind::kAccuracy
                         ? fmt::format("{} of ", to_text(metric.kind))
                         : "",
                     name,
                     baseline_text(metric),
                     candidate_text(metric),
                     ratio_change_text(metric),
                     change_interval_text(metric),
                     detectable_text(metric),
                     markdown_cell(why_text(metric)));
}

/// Returns a table of as many rows as `room` bytes hold, and how many are left out.
std::string table(const MetricList& metrics,
                  const analysis::RunComparisonReport& report,
                  std::size_t room) {
  std::string text = kHead;
  std::size_t written = 0;
  for (const analysis::MetricComparison* metric : metrics) {
    const std::string row = metric_row(*metric, report);
    if (text.size() + row.size() + 100 > room) {
      break;
    }
    text += row;
    ++written;
  }
  if (written < metrics.size()) {
    text += fmt::format("\nand {} more: the HTML report has them\n", metrics.size() - written);
  }
  return text;
}

/// Returns the first names of what failed in both runs.
std::string not_compared_list(const std::vector<analysis::NotCompared>& all) {
  constexpr std::size_t kMaxNames = 10;
  constexpr std::size_t kListBytes = 3000;
  std::string text;
  std::size_t written = 0;
  for (const analysis::NotCompared& each : all) {
    const std::string name = markdown_code(each.series);
    if (written == kMaxNames || text.size() + name.size() > kListBytes) {
      break;
    }
    text += (written == 0 ? "" : ", ") + name;
    ++written;
  }
  return written < all.size() ? fmt::format("{} and {} more", text, all.size() - written) : text;
}

/// Returns the commits of both runs: " · commit 91bc07aa51e2 → 4f2a9c01d3b7", each as a link if it
/// has an address. Empty: no label names them.
std::string commits_text(const analysis::RunComparisonReport& report) {
  const std::string before = results::commit_of(report.baseline.header.environment);
  const std::string after = results::commit_of(report.candidate.header.environment);
  const auto shown = [&](const std::string& commit) {
    return commit.empty()
               ? std::string("–")
               : markdown_link(results::short_commit(commit), report.commits.address(commit));
  };
  return before.empty() && after.empty()
             ? ""
             : fmt::format(" · commit {} → {}", shown(before), shown(after));
}

std::string environment(const analysis::RunComparisonReport& report) {
  constexpr std::size_t kMaxFacts = 20;
  constexpr std::size_t kFactBytes = 4000;
  std::string text = "\n<details><summary>Environment</summary>\n\n";
  std::size_t written = 0;
  for (const analysis::EnvironmentDifference& difference : report.environment_diff) {
    const std::string row = fmt::format("- {}{}: {} → {}\n",
                                        difference.identity ? "" : "(recorded) ",
                                        markdown_cell(difference.name),
                                        markdown_cell(difference.baseline),
                                        markdown_cell(difference.candidate));
    if (written == kMaxFacts || text.size() + row.size() > kFactBytes) {
      text += fmt::format("- and {} more\n", report.environment_diff.size() - written);
      break;
    }
    text += row;
    ++written;
  }
  return text + (written == 0 ? "no fact differs\n" : "") + "\n</details>\n";
}

}  // namespace

void write_comparison_markdown(const analysis::RunComparisonReport& report, std::ostream& out) {
  const analysis::RunComparison& comparison = report.comparison;
  const results::RunHeader& before = report.baseline.header;
  const results::RunHeader& after = report.candidate.header;
  const std::string sides = report.source ? markdown_cell(report.source->name)
                                          : fmt::format("suite {} · stack {} → {} · run {} → {}{}",
                                                        markdown_cell(after.suite),
                                                        markdown_cell(before.stack),
                                                        markdown_cell(after.stack),
                                                        before.id,
                                                        after.id,
                                                        commits_text(report));
  std::string text = fmt::format("## Plumbline: {}\n\n{}\n\n{}\n\n",
                                 to_text(comparison.verdict),
                                 counts_text(verdict_counts(comparison.metrics)),
                                 sides);
  if (report.source) {
    for (const analysis::ComparisonSource::Fact& fact : report.source->facts) {
      text += fmt::format("- {}: {} → {}\n",
                          markdown_cell(fact.name),
                          markdown_cell(fact.baseline),
                          markdown_cell(fact.candidate));
    }
    text += report.source->facts.empty() ? "" : "\n";
  }
  if (comparison.overall) {
    text += fmt::format("{}.\n\n", overall_text(*comparison.overall));
  }
  if (const std::string outputs = outputs_text(comparison.metrics); !outputs.empty()) {
    text += "Outputs: " + outputs + ".\n\n";
  }
  const MetricList changed = changed_metrics(comparison.metrics);
  text += changed.empty() ? std::string("This comparison found no change.\n")
                          : table(changed, report, kMarkdownLimit * 6 / 10);
  constexpr std::size_t kMaxFindings = 10;
  for (std::size_t i = 0; i < std::min(kMaxFindings, comparison.findings.size()); ++i) {
    const analysis::QualificationFinding& finding = comparison.findings[i];
    text += fmt::format(
        "{}- **{}**: {}\n", i == 0 ? "\n" : "", markdown_cell(finding.cause), extent_text(finding));
  }
  constexpr std::size_t kMaxExplained = 5;
  for (std::size_t i = 0; i < std::min(kMaxExplained, report.functions.size()); ++i) {
    text += fmt::format("{}- {}\n",
                        i == 0 ? "\nInside what changed:\n\n" : "",
                        markdown_cell(function_text(report.functions[i], report.places)));
  }
  if (!report.profile_with.empty()) {
    text += fmt::format("\nTo name the functions inside what changed: {}\n",
                        markdown_code(report.profile_with));
  }
  MetricList models;
  for (const analysis::MetricComparison& metric : comparison.metrics) {
    if (!is_changed(metric) && !analysis::is_detail(metric)) {
      models.push_back(&metric);
    }
  }
  if (!comparison.not_compared.empty()) {
    text += fmt::format("\nNot compared, because they failed in the same way in both: {}\n",
                        not_compared_list(comparison.not_compared));
  }
  for (const analysis::AppliedExclusion& each : report.exclusions) {
    constexpr std::size_t kMaxExclusions = 20;
    const auto number = static_cast<std::size_t>(&each - report.exclusions.data());
    if (number == kMaxExclusions) {
      text += fmt::format("- and {} more\n", report.exclusions.size() - number);
      break;
    }
    text += fmt::format("{}- {}\n",
                        number == 0 ? "\nExcluded by the suite:\n\n" : "",
                        markdown_cell(applied_text(each)));
  }
  if (!report.source || !report.environment_diff.empty()) {
    text += environment(report);
  }
  if (!models.empty()) {
    text += "\n<details><summary>Models without a change</summary>\n\n" +
            table(models, report, kMarkdownLimit - text.size() - 300) + "\n</details>\n";
  }
  out << text << fmt::format("\n{}\n", markdown_code(command_text(report)));
}

}  // namespace plumb::reporting
