// SPDX-License-Identifier: Apache-2.0
// A run's report for people in every format: all of it on a page, in a comment what reviewers read.
#include "reporting/content/run/run_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "harness/analysis/bounds/model_summary.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/formats/chart_page.hpp"
#include "reporting/formats/markdown_page.hpp"

namespace plumb::reporting {
namespace {

std::string fact_of(const results::Facts& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? std::string("–") : found->second;
}

/// Adds where and when the run was made, and its labels: the commit as a link.
void add_facts(const analysis::RunReport& report, Page& page) {
  const results::RunHeader& header = report.run.header;
  PageTable table{.head = head_row("run|stack|environment|started")};
  PageRow& row = table.row() << header.id << header.stack << header.environment.id()
                             << to_text(header.started);
  if (page.extent() == Extent::kPage) {  // the title of a comment names the suite
    table.head << "suite"
               << "backend"
               << "processor";
    row << header.suite << header.backend << fact_of(header.environment.identity, "cpu.model");
  }
  for (const auto& [name, value] : results::run_labels(header.environment)) {
    table.head << name;
    row << (name == "commit"
                ? link_cell(results::short_commit(value), report.commits.address(value))
                : text_cell(value));
  }
  page.table(table);
}

bool is_complete(const analysis::ModelReport& model) {
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
      finished && complete == models ? Tone::kGood : Tone::kWarning);
  std::vector<std::string> findings;
  for (const analysis::ModelReport& model : report.models) {
    for (const std::string& finding : analysis::all_findings(model.bounds)) {
      findings.push_back(title_of(model) + ": " + finding);
    }
  }
  if (page.extent() == Extent::kPage && !findings.empty()) {  // a comment has them by model alone
    page.list(first_texts(std::move(findings), kMaxFindings));
  }
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
      "with 95% confidence. Bounds use hot buffers, predictions cold weights. The fastest variants "
      "were measured again in a fresh process, and only these numbers count as the best.");
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
  if (!report.models.empty()) {
    add_overview(report, page);
  }
  add_exclusions(report, page);
  add_models(report, page);
  add_single_layers(report, page);
  if (page.extent() == Extent::kPage) {
    add_environment(report, page);
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
  return quantity_cell(share, [](double part) { return fmt::format("{:.0f} %", 100.0 * part); });
}

PageCell small_share_cell(const std::optional<double>& share) {
  return quantity_cell(share, [](double part) { return fmt::format("{:.1f} %", 100.0 * part); });
}

PageCell bytes_cell(const std::optional<Bytes>& amount) {
  PageCell cell = count_cell(amount ? std::optional<double>(amount->value) : std::nullopt);
  cell.text = amount ? bytes_text(*amount) : cell.text;
  return cell;
}

PageCell interval_cell(const measure::Interval& interval) {
  return number_cell(fmt::format("{} … {}", time_text(interval.low), time_text(interval.high)));
}

PageCell variant_cell(std::string variant) {
  PageCell cell = code_cell(std::move(variant));
  cell.style = "long";
  return cell;
}

std::vector<std::string> first_texts(std::vector<std::string> texts, std::size_t most) {
  if (const std::size_t all = texts.size(); all > most) {
    texts.resize(most);
    texts.push_back(fmt::format("and {} more", all - most));
  }
  return texts;
}

std::string title_of(const analysis::ModelReport& model) {
  return to_text(model.bounds.instance, ", ");
}

std::string name_of(const model::Layer& layer) {
  return layer.name.empty() ? layer.onnx_op : layer.name;
}

const model::Layer& first_layer(const analysis::ModelReport& model,
                                const analysis::PartitionStep& step) {
  return model.graph.layers.at(step.layers.front());
}

bool is_free(const analysis::ModelReport& model, const analysis::PartitionStep& step) {
  return first_layer(model, step).role != model::Layer::Role::kCompute && step.rewrite.empty();
}

std::string completeness_text(const analysis::ModelReport& model) {
  return fmt::format("{} of {}", model.bounds.measured_layers, model.bounds.total_layers);
}

std::optional<Seconds> complete_time(const analysis::ModelReport& model,
                                     results::BoundKind kind,
                                     std::string_view mode) {
  const analysis::Bound* const bound = find_complete(model.bounds, kind, mode);
  return bound == nullptr ? std::nullopt : std::optional(bound->seconds);
}

std::optional<Seconds> measured_time(const analysis::ModelReport& model) {
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

}  // namespace plumb::reporting
