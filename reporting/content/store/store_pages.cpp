// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/store/store_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "harness/base/encoding.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"
#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kRunsShown = 200;

using Row = PageRow;

PageCell choice(const std::string& name, const results::RunId& run, bool chosen) {
  PageCell cell = text_cell(name);
  cell.choice = name;
  cell.value = run;
  cell.chosen = chosen;
  return cell;
}

std::string minutes(Timestamp time) {
  std::string moment = to_text(time).substr(0, 16);
  std::replace(moment.begin(), moment.end(), 'T', ' ');
  return moment;
}

std::string interval_text(const measure::Interval& interval) {
  return fmt::format("{} … {}", time_text(interval.low), time_text(interval.high));
}

const analysis::ExecutionTime* best_execution(const analysis::ModelBounds& model) {
  const analysis::ExecutionTime* best = nullptr;
  for (const analysis::ExecutionTime& execution : model.executions) {
    if (execution.samples > 0 && execution.scenario == loadgen::ScenarioName::kSingleStream &&
        (best == nullptr || execution.median < best->median)) {
      best = &execution;
    }
  }
  return best;
}

std::string bound_text(const analysis::Bound* bound) {
  return bound == nullptr ? "–" : time_text(bound->seconds);
}

/// Returns the exclusion that covers a model as a whole. Null: there is none.
const results::Exclusion* exclusion_of_model(const SuiteMetrics& suite,
                                             const analysis::ModelInstance& instance) {
  return results::find_exclusion(suite.newest->exclusions, {analysis::subject_of(instance)});
}

/// Returns the worst state of a model's metrics, with the metrics that are in it.
std::string state_text(const SuiteMetrics& suite, const analysis::ModelInstance& instance) {
  for (const analysis::ModelRegression::State state :
       {analysis::ModelRegression::State::kBroken,
        analysis::ModelRegression::State::kRegressed,
        analysis::ModelRegression::State::kSuspected,
        analysis::ModelRegression::State::kImproved,
        analysis::ModelRegression::State::kInconclusive,
        analysis::ModelRegression::State::kEquivalent}) {
    std::string metrics;
    for (const analysis::ModelRegression& each : suite.regressions) {
      if (each.instance == instance && each.state == state) {
        metrics += fmt::format("{}{} ({})", metrics.empty() ? "" : ", ", each.metric, each.mode);
      }
    }
    if (!metrics.empty()) {
      return state == analysis::ModelRegression::State::kEquivalent
                 ? "equivalent"
                 : fmt::format("{}: {}", to_text(state), metrics);
    }
  }
  const results::Exclusion* const excluded = exclusion_of_model(suite, instance);
  return excluded == nullptr ? "no baseline" : "excluded until " + excluded->until;
}

Row model_row(const SuiteMetrics& suite, const analysis::ModelBounds& model) {
  const analysis::ExecutionTime* const execution = best_execution(model);
  return {link_cell(to_text(model.instance, ", "), model_address(model.instance.model)),
          text_cell(fmt::format("{} ({})", suite.series.stack, suite.series.backend)),
          text_cell(suite.device),
          number_cell(fmt::format("{} of {}", model.measured_layers, model.total_layers)),
          number_cell(bound_text(find_complete(model, results::BoundKind::kHardware, "any"))),
          number_cell(bound_text(find_complete(model, results::BoundKind::kLibrary, "fusion"))),
          number_cell(execution == nullptr ? "–" : time_text(execution->median)),
          text_cell(execution == nullptr ? "–" : execution->mode),
          text_cell(state_text(suite, model.instance)),
          link_cell(minutes(suite.newest->run.header.started),
                    run_address(suite.newest->run.header.id))};
}

void add_models(HtmlPage& page, std::span<const SuiteMetrics> suites) {
  std::vector<Row> rows;
  for (const SuiteMetrics* suite : newest_first(suites)) {
    for (const analysis::ModelBounds& model : suite->newest->models) {
      rows.push_back(model_row(*suite, model));
    }
  }
  page.heading("Models");
  if (rows.empty()) {
    page.paragraph("No finished run has a model.");
    return;
  }
  page.table({text_cell("model"),
              text_cell("stack"),
              text_cell("device"),
              number_cell("layers"),
              number_cell("hardware bound"),
              number_cell("library bound, fused"),
              number_cell("fastest end to end"),
              text_cell("mode"),
              text_cell("against the baseline"),
              text_cell("run")},
             rows);
}

/// Adds what the newest runs' suites exclude, if they exclude anything.
void add_exclusions(HtmlPage& page, std::span<const SuiteMetrics> suites) {
  std::vector<Row> rows;
  for (const SuiteMetrics* suite : newest_first(suites)) {
    for (const results::Exclusion& each : suite->newest->exclusions) {
      rows.push_back({text_cell(suite->series.suite),
                      text_cell(fmt::format("{} ({})", suite->series.stack, suite->series.backend)),
                      code_cell(each.match),
                      text_cell(each.reason),
                      text_cell(each.who.empty() ? "–" : each.who),
                      text_cell(each.until)});
    }
  }
  if (rows.empty()) {
    return;
  }
  page.heading("Excluded by the suites");
  page.paragraph("These cases are measured, but have no state against the baseline and no alert.");
  page.table({text_cell("suite"),
              text_cell("stack"),
              text_cell("case"),
              text_cell("reason"),
              text_cell("who"),
              text_cell("until")},
             rows);
}

/// Returns the commit of a run, as a link if it has an address.
PageCell commit_cell(const results::RunRecord& run, const results::CommitLink& commits) {
  const std::string commit = results::commit_of(run.header.environment);
  return link_cell(results::short_commit(commit), commits.address(commit));
}

/// Returns the labels of a run other than its commit.
std::string other_labels(const results::RunRecord& run) {
  results::RunLabels labels = results::run_labels(run.header.environment);
  labels.erase("commit");
  return results::to_text(labels);
}

void add_runs(HtmlPage& page,
              std::span<const results::RunRecord> runs,
              const results::CommitLink& commits) {
  page.heading("Runs");
  if (runs.empty()) {
    page.paragraph("The store holds no run yet: make one with plumb run SUITE.");
    return;
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(runs.size(), kRunsShown); ++i) {
    const results::RunRecord& run = runs[i];
    std::string tags;
    for (const std::string& tag : run.tags) {
      tags += (tags.empty() ? "" : ", ") + tag;
    }
    rows.push_back({choice("base", run.header.id, i == 1),
                    choice("cand", run.header.id, i == 0),
                    link_cell(run.header.id, run_address(run.header.id)),
                    text_cell(run.header.suite),
                    text_cell(run.header.stack),
                    text_cell(minutes(run.header.started)),
                    text_cell(std::string(to_text(run.state))),
                    number_cell(std::to_string(run.rows_ok)),
                    number_cell(std::to_string(run.rows_failed)),
                    number_cell(std::to_string(run.rows_reused)),
                    text_cell(tags),
                    commit_cell(run, commits),
                    text_cell(other_labels(run))});
  }
  page.begin_form("/compare");
  page.table({text_cell("baseline"),
              text_cell("candidate"),
              text_cell("report"),
              text_cell("suite"),
              text_cell("stack"),
              text_cell("started (UTC)"),
              text_cell("state"),
              number_cell("ok"),
              number_cell("failed"),
              number_cell("reused"),
              text_cell("tags"),
              text_cell("commit"),
              text_cell("labels")},
             rows);
  if (runs.size() > kRunsShown) {
    page.paragraph(fmt::format("and {} older ones: plumb runs", runs.size() - kRunsShown));
  }
  page.end_form("compare baseline and candidate");
}

void add_series(HtmlPage& page, const SuiteMetrics& suite, std::size_t index) {
  const RunMetrics& run = *suite.newest;
  const analysis::ModelBounds& model = run.models[index];
  page.heading(fmt::format("{} · {} ({}) · {}",
                           to_text(model.instance, ", "),
                           suite.series.stack,
                           suite.series.backend,
                           suite.device));
  page.verdict(state_text(suite, model.instance) + ".",
               fmt::format("Suite {}, {} of {} layers have a time.",
                           suite.series.suite,
                           model.measured_layers,
                           model.total_layers),
               model.measured_layers < model.total_layers ? PageCell::Tone::kWarning
                                                          : PageCell::Tone::kGood);
  page.link("report of the run", run_address(run.run.header.id));
  if (!suite.drift.empty()) {
    page.paragraph("Not compared, because the host left its class: " + suite.drift + ".");
  }
  if (const results::Exclusion* const excluded = exclusion_of_model(suite, model.instance)) {
    page.paragraph("Excluded by the suite: " + exclusion_text(*excluded, false) + ".");
  }
  std::vector<Row> rows;
  for (const analysis::ExecutionTime& execution : model.executions) {
    const bool timed = execution.samples > 0;
    rows.push_back({text_cell(fmt::format("end to end, {}", to_text(execution.scenario))),
                    text_cell(execution.mode),
                    number_cell(timed ? time_text(execution.median) : "–"),
                    text_cell(timed ? interval_text(execution.interval)
                                    : std::string(to_text(execution.outcome.kind)))});
  }
  for (const analysis::Bound& bound : model.bounds) {
    rows.push_back({text_cell(std::string(to_text(bound.kind))),
                    text_cell(bound.mode),
                    number_cell(bound.complete ? time_text(bound.seconds) : "–"),
                    text_cell(bound.complete ? interval_text(bound.interval) : "incomplete")});
  }
  page.table({text_cell("what"), text_cell("mode"), number_cell("time"), text_cell("95 %")}, rows);
  rows.clear();
  for (const analysis::WhatIfResult& whatif : run.whatifs[index].whatifs) {
    rows.push_back(
        {text_cell(whatif.name),
         number_cell(whatif.predicted_speedup ? ratio_text(*whatif.predicted_speedup) : "–"),
         text_cell(whatif.why_not.empty() ? whatif.mode : whatif.why_not)});
  }
  page.table({text_cell("what if"), number_cell("speed-up"), text_cell("how")}, rows);
  rows.clear();
  for (const RunMetrics::ModelTimes::Layer& layer : run.times[index].slowest) {
    rows.push_back({text_cell(layer.name),
                    text_cell(layer.op),
                    number_cell(time_text(layer.seconds)),
                    text_cell(layer.variant)});
  }
  page.table({text_cell("slowest layer"),
              text_cell("operator"),
              number_cell("time"),
              text_cell("variant")},
             rows);
}

}  // namespace

std::string run_address(const results::RunId& run) {
  return "/runs/" + percent_encoded(run);
}

std::string model_address(const std::string& model) {
  return "/models/" + percent_encoded(model);
}

void write_overview_page(std::span<const results::RunRecord> runs,
                         std::span<const SuiteMetrics> suites,
                         bool up,
                         const results::CommitLink& commits,
                         std::ostream& out) {
  HtmlPage page("Plumbline");
  if (!up) {
    page.verdict("The store cannot be read.",
                 "The page shows what was read last. The server's log says why.",
                 PageCell::Tone::kWarning);
  }
  page.link("hosts", "/hosts");
  page.link("functions over time", "/functions");
  page.link("open changes", "/triage");
  page.link("metrics", "/metrics");
  add_models(page, suites);
  add_exclusions(page, suites);
  add_runs(page, runs, commits);
  page.write(out);
}

bool write_model_page(const std::string& model,
                      std::span<const SuiteMetrics> suites,
                      std::ostream& out) {
  HtmlPage page(model);
  page.link("all models and runs", "/");
  bool found = false;
  for (const SuiteMetrics* suite : newest_first(suites)) {
    for (std::size_t i = 0; i < suite->newest->models.size(); ++i) {
      if (suite->newest->models[i].instance.model == model) {
        add_series(page, *suite, i);
        found = true;
      }
    }
  }
  if (found) {
    page.write(out);
  }
  return found;
}

void write_message_page(const std::string& title, const std::string& text, std::ostream& out) {
  HtmlPage page(title);
  page.paragraph(text);
  page.link("all models and runs", "/");
  page.write(out);
}

namespace {

constexpr std::size_t kHostsShown = 1000;

/// Writes a control's time, and how it lies to that of the class.
std::string control_text(const HostMetrics& host, Seconds results::Controls::*time) {
  const Seconds own = host.health.newest.controls.*time;
  if (!host.health.of_class) {
    return time_text(own);
  }
  return fmt::format(
      "{} ({:+.1f} %)", time_text(own), 100.0 * (own / ((*host.health.of_class).*time) - 1.0));
}

PageCell state_cell(const HostMetrics& host) {
  if (!host.health.of_class) {
    return text_cell("too few runs to tell");
  }
  return host.health.drift.empty() ? text_cell("in its class")
                                   : word_cell("left its class", PageCell::Tone::kWarning);
}

PageRow host_row(const HostMetrics& host, Timestamp now) {
  const analysis::HostHealth::Reading& newest = host.health.newest;
  return {
      text_cell(newest.controls.host.empty() ? "–" : newest.controls.host),
      text_cell(host.device),
      text_cell(newest.of.backend),
      text_cell(newest.of.threads.empty() ? "–" : newest.of.threads),
      code_cell(newest.of.system),
      link_cell(host.suite, run_address(newest.run)),
      text_cell(host.stack),
      number_cell(age_text(newest.finished.value_or(newest.started), now)),
      number_cell(control_text(host, &results::Controls::product)),
      number_cell(control_text(host, &results::Controls::copy)),
      number_cell(host.health.noise ? fmt::format("{:.2f} %", 100.0 * *host.health.noise) : "–"),
      state_cell(host)};
}

}  // namespace

void write_hosts_page(std::span<const HostMetrics> hosts, Timestamp now, std::ostream& out) {
  HtmlPage page("Hosts");
  page.link("all models and runs", "/");
  std::vector<const HostMetrics*> sorted;
  for (const HostMetrics& host : hosts) {
    sorted.push_back(&host);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* one, const auto* other) {
    return !one->health.drift.empty() && other->health.drift.empty();
  });
  for (const HostMetrics* const host : sorted) {
    if (host->health.drift.empty()) {
      break;
    }
    page.verdict(
        fmt::format("{} left its class.", host->health.newest.controls.host),
        fmt::format("Beside the class, {}. Its runs are not compared.", host->health.drift),
        PageCell::Tone::kWarning);
  }
  if (sorted.empty()) {
    page.paragraph("No finished run has measured the controls of its host.");
    page.write(out);
    return;
  }
  std::vector<PageRow> rows;
  for (std::size_t i = 0; i < std::min(sorted.size(), kHostsShown); ++i) {
    rows.push_back(host_row(*sorted[i], now));
  }
  page.table({text_cell("host"),
              text_cell("device"),
              text_cell("backend"),
              text_cell("threads"),
              text_cell("system"),
              text_cell("newest run"),
              text_cell("stack"),
              number_cell("age"),
              number_cell("control product"),
              number_cell("control copy"),
              number_cell("noise"),
              text_cell("controls")},
             rows);
  if (sorted.size() > kHostsShown) {
    page.paragraph(fmt::format("and {} others: see the metrics", sorted.size() - kHostsShown));
  }
  page.write(out);
}

}  // namespace plumb::reporting
