// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/review/pull_request_comment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/base/encoding.hpp"
#include "harness/results/series/series_name.hpp"
#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/qualification/qualification_report.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {
namespace {

std::string metric_name(const analysis::MetricComparison& metric,
                        const analysis::ComparisonReport& report) {
  const std::string key = analysis::layer_key_of(metric);
  if (!key.empty()) {
    const std::string kind = metric.kind == analysis::MetricKind::kCapability ||
                                     metric.kind == analysis::MetricKind::kAccuracy
                                 ? fmt::format("{} of ", to_text(metric.kind))
                                 : "";
    return kind + named_key(key, report.places);
  }
  std::string rest(results::behind_subject(metric.series, metric.model));
  if (rest.empty()) {
    return metric.series;
  }
  std::replace(rest.begin(), rest.end(), '/', ' ');
  return metric.model + " " + rest;
}

void add_frame(const CommentFrame& frame, std::vector<PageRow> facts, MarkdownPage& page) {
  for (const auto& [name, value] : frame.labels) {
    facts.push_back({text_cell(name),
                     name == "commit"
                         ? link_cell(results::short_commit(value), frame.commits.address(value))
                         : text_cell(value)});
  }
  if (!frame.report_address.empty()) {
    facts.push_back({text_cell("everything"), link_cell("report", frame.report_address)});
  }
  if (!facts.empty()) {
    page.table({text_cell("what"), text_cell("")}, facts);
  }
}

void add_changes(const analysis::ComparisonReport& report,
                 const CommandOfMetric& command,
                 MarkdownPage& page) {
  page.heading("What changed");
  const MetricList changed = changed_metrics(report.comparison.metrics);
  if (changed.empty()) {
    page.paragraph("Nothing that was measured changed.");
    return;
  }
  std::vector<PageRow> rows;
  std::vector<PageRow> commands;
  for (const analysis::MetricComparison* const metric : changed) {
    const std::string name = metric_name(*metric, report);
    rows.push_back({text_cell(std::string(to_text(metric->verdict))),
                    text_cell(name),
                    number_cell(baseline_text(*metric)),
                    number_cell(candidate_text(*metric)),
                    number_cell(ratio_change_text(*metric)),
                    number_cell(change_interval_text(*metric)),
                    text_cell(why_text(*metric))});
    if (std::string again = command(*metric); !again.empty()) {
      commands.push_back({text_cell(name), code_cell(std::move(again))});
    }
  }
  page.table({text_cell("verdict"),
              text_cell("model or layer"),
              number_cell("baseline"),
              number_cell("candidate"),
              number_cell("change"),
              number_cell("95 %"),
              text_cell("why")},
             rows);
  if (!commands.empty()) {
    page.heading("Measure it again");
    page.table({text_cell("model or layer"), text_cell("command")}, commands);
  }
}

/// Adds what has no verdict, and why: `notes` first.
void add_unmeasured(const analysis::ComparisonReport& report,
                    std::vector<PageRow> rows,
                    MarkdownPage& page) {
  for (const analysis::RunComparison::NotCompared& each : report.comparison.not_compared) {
    rows.push_back({text_cell(each.series), text_cell(failures_text(each) + " (in both)")});
  }
  for (const analysis::MetricComparison& metric : report.comparison.metrics) {
    if (metric.verdict == analysis::ComparisonVerdict::kInconclusive) {
      const std::string why = why_text(metric);
      rows.push_back({text_cell(metric_name(metric, report)),
                      text_cell(why.empty() ? "not enough evidence" : why)});
    }
  }
  for (const analysis::ComparisonReport::AppliedExclusion& each : report.exclusions) {
    rows.push_back({text_cell("excluded by the suite"), text_cell(applied_text(each))});
  }
  page.heading("Not measured, or not decided");
  if (rows.empty()) {
    page.paragraph("Everything that the suite asks for was measured and decided.");
  } else {
    page.table({text_cell("what"), text_cell("why")}, rows);
  }
}

std::string finished(const MarkdownPage& page, const CommentFrame& frame) {
  std::ostringstream out;
  out << comment_marker(frame.name) << '\n';
  page.write(out);
  return std::move(out).str();
}

/// Returns the value of an option in a command. Empty: the command does not have it.
std::string option_value(const std::vector<std::string>& command, const std::string& option) {
  const auto found = std::find(command.begin(), command.end(), option);
  return found == command.end() || found + 1 == command.end() ? "" : *(found + 1);
}

/// Returns whether a command is one of `plumb qualify`. The file that it comes from may be
/// anyone's.
bool is_qualify(const std::vector<std::string>& command) {
  return command.size() > 2 && command[0] == "plumb" && command[1] == "qualify";
}

/// Writes a command without the folders of the machine that measured: they are nobody's business.
std::string shown_command(std::vector<std::string> words) {
  for (std::string& word : words) {
    if (word.starts_with('/')) {
      word.erase(0, word.rfind('/') + 1);
    }
  }
  return shell_command(words);
}

/// Returns the command that repeats one metric of a qualification. A model is measured with both
/// stacks, and a layer with the candidate's.
std::string qualified_command(const analysis::Qualification& q,
                              const analysis::MetricComparison& metric) {
  const std::string key = analysis::layer_key_of(metric);
  if (!key.empty()) {
    std::vector<std::string> words{"--stack", q.candidate.name};
    const std::string threads = option_value(q.command, "--threads");
    if (!threads.empty() && threads != "1") {
      words.insert(words.end(), {"--threads", threads});
    }
    return layer_command(key) + " " + shell_command(words);
  }
  if (!is_qualify(q.command)) {
    return "";
  }
  std::vector<std::string> words = q.command;
  const auto instance = analysis::parse_subject(metric.model);
  if (instance && option_value(words, "--model").empty()) {
    words.insert(words.end(), {"--model", instance->model});
  }
  return shown_command(std::move(words));
}

}  // namespace

std::string comment_marker(const std::string& name) {
  return fmt::format("<!-- plumbline comment: {} -->", name);
}

std::string comment_text(const analysis::ComparisonReport& report,
                         const CommandOfMetric& command,
                         const CommentFrame& frame) {
  const results::RunHeader& before = report.baseline.header;
  const results::RunHeader& after = report.candidate.header;
  MarkdownPage page(fmt::format("Plumbline: {}", to_text(report.comparison.verdict)));
  page.verdict(std::string(to_text(report.comparison.verdict)) + ".",
               counts_text(verdict_counts(report.comparison.metrics)) + ".",
               PageCell::Tone::kGood);
  add_frame(frame,
            {{text_cell("suite"), text_cell(after.suite)},
             {text_cell("stack"), text_cell(before.stack + " → " + after.stack)},
             {text_cell("compare"), code_cell(command_text(report))}},
            page);
  add_changes(report, command, page);
  add_unmeasured(report, {}, page);
  return finished(page, frame);
}

std::string comment_text(const analysis::QualificationReport& report, const CommentFrame& frame) {
  const analysis::Qualification& q = report.qualification;
  const analysis::ComparisonReport comparison = as_comparison(q);
  MarkdownPage page(fmt::format("Plumbline: {}", to_text(q.verdict)));
  page.verdict(
      std::string(to_text(q.verdict)) + ".",
      fmt::format("{}. {}.", q.reason, counts_text(verdict_counts(comparison.comparison.metrics))),
      PageCell::Tone::kGood);
  std::vector<PageRow> facts{
      {text_cell("suite"), text_cell(q.suite)},
      {text_cell("stack"), text_cell(stack_label(q.baseline) + " → " + stack_label(q.candidate))}};
  if (is_qualify(q.command)) {
    facts.push_back({text_cell("all of it again"), code_cell(shown_command(q.command))});
  }
  add_frame(frame, std::move(facts), page);
  add_changes(
      comparison,
      [&](const analysis::MetricComparison& metric) { return qualified_command(q, metric); },
      page);
  std::vector<PageRow> unmeasured;
  if (!q.complete) {
    unmeasured.push_back({text_cell("the rest"), text_cell("it was stopped before its end")});
  }
  for (const analysis::Qualification::Criterion& result : q.results) {
    if (result.state == analysis::Qualification::Criterion::State::kNotMeasured) {
      unmeasured.push_back({text_cell("criterion " + result.criterion), text_cell(result.found)});
    }
  }
  for (const std::string& note : q.notes) {
    unmeasured.push_back({text_cell("note"), text_cell(note)});
  }
  add_unmeasured(comparison, std::move(unmeasured), page);
  return finished(page, frame);
}

std::string comment_without_verdict(const CommentFrame& frame) {
  MarkdownPage page("Plumbline: no verdict");
  page.paragraph("The job ended without a result. Its log says why.");
  add_frame(frame, {}, page);
  return finished(page, frame);
}

}  // namespace plumb::reporting
