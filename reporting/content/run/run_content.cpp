// SPDX-License-Identifier: Apache-2.0
// A run's report for people in every format: all of it on a page, in a comment what reviewers read,
// and on a terminal the answer to one question.
#include "reporting/content/run/run_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/run/report.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {
namespace {

std::string fact_of(const results::Facts& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::string("–") : found->second;
}

/// Adds where and when the run was made, and its labels: the commit as a link.
void add_facts(const analysis::RunReport& report, Page& page) {
  const results::RunHeader& header = report.run.header;
  if (page.extent() == Extent::kTerminal || page.extent() == Extent::kText) {
    page.paragraph(fmt::format("run {}  suite {}  stack {}  environment {}",
                               header.id,
                               header.suite,
                               header.stack,
                               header.environment.id()));
    return;
  }
  PageTable table{.head = head_row("run|stack|environment|started|+suite|+backend|+processor")};
  PageRow& row = table.row() << header.id << header.stack << header.environment.id()
                             << to_text(header.started) << header.suite << header.backend
                             << fact_of(header.environment.identity, "cpu.model");
  for (const auto& [name, value] : results::run_labels(header.environment)) {
    table.head << name;
    row << (name == "commit"
                ? link_cell(results::short_commit(value), report.commits.address(value))
                : text_cell(value));
  }
  page.table(table);
}

bool is_complete(const analysis::RunReport::Model& model) {
  const std::vector<analysis::Bound>& bounds = model.bounds.bounds;
  return model.bounds.measured_layers == model.bounds.total_layers &&
         std::all_of(bounds.begin(), bounds.end(), [](const auto& each) { return each.complete; });
}

/// Adds how much of the run was measured, and what makes it less certain.
void add_verdict(const analysis::RunReport& report, Page& page) {
  const std::size_t models = report.models.size();
  const auto complete = static_cast<std::size_t>(
      std::count_if(report.models.begin(), report.models.end(), is_complete));
  const auto timed = std::count_if(report.layers.begin(),
                                   report.layers.end(),
                                   [](const auto& layer) { return layer.time.has_value(); });
  const bool finished = report.run.state == results::RunState::kFinished;
  page.verdict(
      (models > 0 ? fmt::format("{} of {} models are completely measured", complete, models)
                  : fmt::format("{} of {} layers have a time", timed, report.layers.size())) +
          (finished ? "." : fmt::format("; the run is {}.", to_text(report.run.state))),
      fmt::format("{} rows measured, {} reused, {} without a time.",
                  report.run.rows_ok,
                  report.run.rows_reused,
                  report.run.rows_failed),
      finished && complete == models ? PageCell::Tone::kGood : PageCell::Tone::kWarning);
  std::vector<std::string> notes;
  if (!analysis::is_point_of_history(report.run.header)) {
    notes.push_back("This run " + analysis::why_no_history(report.run.header));
  }
  const auto note = [&](bool (*is)(const analysis::RunReport::Model&), const char* text) {
    const auto count = std::count_if(report.models.begin(), report.models.end(), is);
    if (count > 0 && page.extent() == Extent::kTerminal) {  // elsewhere they are listed
      notes.push_back(fmt::format("{} of {}: {}", count, counted(models, "model"), text));
    }
  };
  note([](const auto& model) { return !model.bounds.disturbances.empty(); },
       "disturbed or unstable; run again when the host is quiet");
  note([](const auto& model) { return !model.bounds.findings.empty(); }, "findings");
  for (const analysis::RunReport::Model& model : report.models) {
    if (page.extent() == Extent::kPage) {  // elsewhere they stand by model alone
      for (const std::string& finding : analysis::all_findings(model.bounds)) {
        notes.push_back(title_of(model) + ": " + finding);
      }
    }
  }
  add_texts(std::move(notes), page);
}

void add_exclusions(const analysis::RunReport& report, Page& page) {
  if (report.exclusions.empty()) {
    return;
  }
  page.heading("Excluded by the suite");
  PageTable table{.head = head_row("case|reason|who|until")};
  table.caption =
      "Gates, history and alerts leave these cases out. They are measured nevertheless.";
  for (const results::Exclusion& each : report.exclusions) {
    const bool expired = !each.holds_on(analysis::day_of(report.run.header));
    table.row() << code_cell(each.match) << each.reason << each.who
                << each.until + (expired ? ", expired" : "");
  }
  page.table(table);
}

void add_environment_facts(const std::string& caption, const results::Facts& facts, Page& page) {
  PageTable table{.head = head_row("name|value"), .caption = caption};
  for (const auto& [name, value] : facts) {
    table.row() << name << code_cell(value);
  }
  page.table(table);
}

void add_failures(const analysis::RunReport& report, Page& page) {
  constexpr std::size_t kMost = 500;
  PageTable table{.head = head_row("key|variant|outcome|reason"),
                  .caption = "Variants without a time"};
  for (const results::StoredMeasurement& row : report.rows) {
    const auto& [kind, reason] = row.measurement.outcome;
    if (!row.measurement.outcome.timed() && kind != results::Outcome::Kind::kSkipped &&
        table.rows.size() < kMost) {
      table.row() << key_cell(row.measurement.key.text) << row.measurement.variant << to_text(kind)
                  << reason;
    }
  }
  add_rows(table, page);
}

void add_environment(const analysis::RunReport& report, Page& page) {
  const results::Environment& environment = report.run.header.environment;
  page.begin_fold("Environment and method", false);
  add_environment_facts("Identity: hashed to " + environment.id(), environment.identity, page);
  add_environment_facts("Recorded, never hashed", environment.facts, page);
  page.paragraph(
      "Every variant was compared with an independent float64 reference before it was timed. A "
      "time is the median of n samples less the harness overhead. The interval contains the median "
      "with 95% confidence. Bounds use hot buffers, predictions cold weights. The bounds are "
      "hardware, hardware_update, library and library_parallel. benanza_* is the metric of the "
      "Benanza paper. All other kinds are estimates. The fastest variants were measured again in a "
      "fresh process, and only these numbers count as the best.");
  add_failures(report, page);
  page.end_fold();
  page.paragraph(fmt::format(
      "Written by plumb {}, {}. Charts by Chart.js, MIT licence (see the source of this page).",
      fact_of(environment.facts, "plumb.version"),
      to_text(report.now)));
}

void add_report(const analysis::RunReport& report, Page& page) {
  add_facts(report, page);
  add_verdict(report, page);
  add_overview(report, page);
  add_exclusions(report, page);
  add_models(report, Question::kBoth, page);
  add_single_layers(report, page);
  if (page.extent() == Extent::kPage) {
    add_environment(report, page);
  }
}

/// Adds the answer to a question. Its verdict comes last, where a terminal's reader looks.
void add_answer(const analysis::RunReport& report, Question question, Page& page) {
  add_facts(report, page);
  add_models(report, question, page);
  if (question != Question::kWhatIfs) {
    add_overview(report, page);
    add_single_layers(report, page);
    add_exclusions(report, page);
    add_verdict(report, page);
  }
}

/// Returns the age of the oldest row that a bound rests on; a dash: there is none.
std::string oldest_row_text(const analysis::RunReport& report) {
  std::optional<Timestamp> oldest;
  for (const analysis::RunReport::Model& model : report.models) {
    for (const analysis::Bound& bound : model.bounds.bounds) {
      oldest =
          bound.oldest_row && (!oldest || *bound.oldest_row < *oldest) ? bound.oldest_row : oldest;
    }
  }
  return oldest ? age_text(*oldest, report.now) : "–";
}

/// Adds how to see more of what-ifs, and how to measure what has no realised saving.
void add_what_if_hints(const analysis::RunReport& report, Page& page) {
  page.paragraph(
      "plumb whatif --all: all columns; what switches each of them on in other frameworks, what it "
      "needs, where it saves, and why the rest does not apply");
  if (std::any_of(report.models.begin(), report.models.end(), [](const auto& model) {
        const std::vector<analysis::WhatIfResult>& whatifs = model.whatifs.whatifs;
        return std::any_of(whatifs.begin(), whatifs.end(), [](const auto& each) {
          return each.applies && !each.realised && each.why_not.empty() &&
                 !each.execution_mode.empty();
        });
      })) {
    page.paragraph("plumb whatif --measure: executes what has no realised saving yet");
  }
}

}  // namespace

void add_rows(const PageTable& table, Page& page) {
  if (!table.rows.empty()) {
    page.table(table);
  }
}

PageCell count_cell(const std::optional<double>& count) {
  return quantity_cell(count, count_text);
}

PageCell ratio_cell(const std::optional<double>& ratio) {
  return quantity_cell(ratio, ratio_text);
}

PageCell share_cell(const std::optional<double>& share) {
  return quantity_cell(share, [](double part) { return share_text(part, 0); });
}

PageCell small_share_cell(const std::optional<double>& share) {
  return quantity_cell(share, [](double part) { return share_text(part); });
}

PageCell bytes_cell(const std::optional<Bytes>& amount) {
  PageCell cell = count_cell(amount ? std::optional<double>(amount->value) : std::nullopt);
  cell.text = amount ? bytes_text(*amount) : cell.text;
  return cell;
}

PageCell interval_cell(const measure::Interval& interval) {
  return number_cell(fmt::format("{} … {}", time_text(interval.low), time_text(interval.high)));
}

PageCell time_cell(const std::optional<Seconds>& time, const measure::Interval& interval) {
  PageCell cell = number_cell(time ? with_interval(*time, interval) : "–");
  cell.quantity = time ? std::optional(time->count()) : std::nullopt;
  return cell;
}

PageCell variant_cell(std::string variant) {
  PageCell cell = code_cell(std::move(variant));
  cell.style = "long";
  return cell;
}

void add_first_rows(PageTable table, std::size_t most, Page& page) {
  const std::size_t all = table.rows.size();
  table.rows.resize(std::min(all, most));
  add_rows(table, page);
  if (all > most) {
    page.paragraph(fmt::format("and {} more", all - most));
  }
}

void add_texts(std::vector<std::string> texts, Page& page) {
  constexpr std::size_t kMost = 20;
  if (!texts.empty()) {
    page.list(first_texts(std::move(texts), kMost));
  }
}

std::vector<std::string> first_texts(std::vector<std::string> texts, std::size_t most) {
  if (const std::size_t all = texts.size(); all > most) {
    texts.resize(most);
    texts.push_back(fmt::format("and {} more", all - most));
  }
  return texts;
}

std::string title_of(const analysis::RunReport::Model& model) {
  return to_text(model.bounds.instance, ", ");
}

std::string name_of(const model::Layer& layer) {
  return layer.name.empty() ? layer.onnx_op : layer.name;
}

const model::Layer& first_layer(const analysis::RunReport::Model& model,
                                const analysis::PartitionStep& step) {
  return model.graph.layers.at(step.layers.front());
}

bool is_free(const analysis::RunReport::Model& model, const analysis::PartitionStep& step) {
  return first_layer(model, step).role != model::Layer::Role::kCompute && step.rewrite.empty();
}

std::string completeness_text(const analysis::RunReport::Model& model) {
  return fmt::format("{} of {}", model.bounds.measured_layers, model.bounds.total_layers);
}

std::optional<Seconds> measured_time(const analysis::RunReport::Model& model) {
  return analysis::summarize(model.bounds).modes.front().measured();
}

void write_html_report(const analysis::RunReport& report, std::ostream& out) {
  ChartPage page(report.models.empty() ? "How long does each layer take?"
                                       : "How far is each model from its bound?");
  add_report(report, page);
  page.write(out);
}

void write_markdown_report(const analysis::RunReport& report, std::ostream& out) {
  MarkdownPage page("Plumbline: " + report.run.header.suite);
  add_report(report, page);
  page.write(out);
}

void write_text_report(const analysis::RunReport& report, std::ostream& out) {
  TextPage page(Extent::kText);
  add_answer(report, Question::kBoth, page);
  page.write(out);
}

void write_bounds(const analysis::RunReport& report,
                  OutputMode style,
                  std::ostream& out,
                  Detail detail) {
  if (style == OutputMode::kJson) {
    return write_json(analysis::bounds_document(report), out);
  }
  TextPage page(detail == Detail::kAll ? Extent::kText : Extent::kTerminal);
  add_answer(report, Question::kBounds, page);
  if (detail == Detail::kShort && !report.models.empty()) {
    page.paragraph(
        "plumb bound --all: every bound with its interval, completeness and age, and all findings; "
        "oldest row: " +
        oldest_row_text(report));
  }
  page.write(out);
}

void write_what_ifs(const analysis::RunReport& report,
                    OutputMode style,
                    std::ostream& out,
                    Detail detail) {
  if (style == OutputMode::kJson) {
    return write_json(analysis::what_ifs_document(report), out);
  }
  TextPage page(detail == Detail::kAll ? Extent::kText : Extent::kTerminal);
  add_answer(report, Question::kWhatIfs, page);
  if (detail == Detail::kShort && !report.models.empty()) {
    add_what_if_hints(report, page);
  }
  page.write(out);
}

}  // namespace plumb::reporting
