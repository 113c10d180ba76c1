// SPDX-License-Identifier: Apache-2.0
#include "reporting/store_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "harness/base/percent_encoding.hpp"
#include "reporting/html_page.hpp"
#include "reporting/prometheus/suite_metrics.hpp"
#include "reporting/quantity_text.hpp"

namespace plumb {
namespace {

constexpr std::size_t kRunsShown = 200;
constexpr std::size_t kQuietLayersShown = 10;

using Row = std::vector<HtmlCell>;

HtmlCell text(std::string words) {
  return {.text = std::move(words), .link = {}, .choice = {}, .value = {}};
}

HtmlCell number(std::string words) {
  HtmlCell cell = text(std::move(words));
  cell.number = true;
  return cell;
}

HtmlCell link_to(std::string words, std::string address) {
  HtmlCell cell = text(std::move(words));
  cell.link = std::move(address);
  return cell;
}

HtmlCell choice(const std::string& name, const RunId& run, bool chosen) {
  HtmlCell cell = text(name);
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

std::string interval_text(const Interval& interval) {
  return fmt::format("{} … {}", time_text(interval.low), time_text(interval.high));
}

const ExecutionTime* best_execution(const ModelBounds& model) {
  const ExecutionTime* best = nullptr;
  for (const ExecutionTime& execution : model.executions) {
    if (execution.samples > 0 && execution.scenario == "single_stream" &&
        (best == nullptr || execution.median < best->median)) {
      best = &execution;
    }
  }
  return best;
}

const Bound* bound_of(const ModelBounds& model, std::string_view kind, std::string_view mode) {
  const auto bound = std::find_if(model.bounds.begin(), model.bounds.end(), [&](const auto& each) {
    return each.kind == kind && (mode.empty() || each.mode == mode);
  });
  return bound == model.bounds.end() || !bound->complete ? nullptr : &*bound;
}

std::string bound_text(const Bound* bound) {
  return bound == nullptr ? "–" : time_text(bound->seconds);
}

/// Names the states that a reader should know of, worst first.
std::string state_text(const SuiteMetrics& suite, const ModelInstance& instance) {
  for (const RegressionState state : {RegressionState::kBroken,
                                      RegressionState::kRegressed,
                                      RegressionState::kSuspected,
                                      RegressionState::kImproved,
                                      RegressionState::kInconclusive,
                                      RegressionState::kEquivalent}) {
    std::string metrics;
    for (const ModelRegression& each : suite.regressions) {
      if (each.instance == instance && each.state == state) {
        metrics += fmt::format("{}{} ({})", metrics.empty() ? "" : ", ", each.metric, each.mode);
      }
    }
    if (!metrics.empty()) {
      return state == RegressionState::kEquivalent ? "equivalent"
                                                   : fmt::format("{}: {}", to_text(state), metrics);
    }
  }
  return "no baseline";
}

Row model_row(const SuiteMetrics& suite, const ModelBounds& model) {
  const ExecutionTime* const execution = best_execution(model);
  return {
      link_to(to_text(model.instance, ", "), model_address(model.instance.model)),
      text(fmt::format("{} ({})", suite.series.stack, suite.series.backend)),
      text(suite.device),
      number(fmt::format("{} of {}", model.measured_layers, model.total_layers)),
      number(bound_text(bound_of(model, "hardware", ""))),
      number(bound_text(bound_of(model, "library", "fusion"))),
      number(execution == nullptr ? "–" : time_text(execution->median)),
      text(execution == nullptr ? "–" : execution->mode),
      text(state_text(suite, model.instance)),
      link_to(minutes(suite.newest->run.header.started), run_address(suite.newest->run.header.id))};
}

void add_models(HtmlPage& page, std::span<const SuiteMetrics> suites) {
  std::vector<Row> rows;
  for (const SuiteMetrics* suite : newest_first(suites)) {
    for (const ModelBounds& model : suite->newest->models) {
      rows.push_back(model_row(*suite, model));
    }
  }
  page.heading("Models");
  if (rows.empty()) {
    page.paragraph("No finished run has a model.");
    return;
  }
  page.table({text("model"),
              text("stack"),
              text("device"),
              number("layers"),
              number("hardware bound"),
              number("library bound, fused"),
              number("fastest end to end"),
              text("mode"),
              text("against the baseline"),
              text("run")},
             rows);
}

void add_runs(HtmlPage& page, std::span<const RunRecord> runs) {
  page.heading("Runs");
  if (runs.empty()) {
    page.paragraph("The store holds no run yet: make one with plumb run SUITE.");
    return;
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(runs.size(), kRunsShown); ++i) {
    const RunRecord& run = runs[i];
    std::string tags;
    for (const std::string& tag : run.tags) {
      tags += (tags.empty() ? "" : ", ") + tag;
    }
    rows.push_back({choice("base", run.header.id, i == 1),
                    choice("cand", run.header.id, i == 0),
                    link_to(run.header.id, run_address(run.header.id)),
                    text(run.header.suite),
                    text(run.header.stack),
                    text(minutes(run.header.started)),
                    text(std::string(to_text(run.state))),
                    number(std::to_string(run.rows_ok)),
                    number(std::to_string(run.rows_failed)),
                    number(std::to_string(run.rows_reused)),
                    text(tags)});
  }
  page.begin_form("/compare");
  page.table({text("baseline"),
              text("candidate"),
              text("report"),
              text("suite"),
              text("stack"),
              text("started (UTC)"),
              text("state"),
              number("ok"),
              number("failed"),
              number("reused"),
              text("tags")},
             rows);
  if (runs.size() > kRunsShown) {
    page.paragraph(fmt::format("and {} older ones: plumb runs", runs.size() - kRunsShown));
  }
  page.end_form("compare baseline and candidate");
}

void add_series(HtmlPage& page, const SuiteMetrics& suite, std::size_t index) {
  const RunMetrics& run = *suite.newest;
  const ModelBounds& model = run.models[index];
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
               model.measured_layers < model.total_layers);
  page.link("report of the run", run_address(run.run.header.id));
  std::vector<Row> rows;
  for (const ExecutionTime& execution : model.executions) {
    const bool timed = execution.samples > 0;
    rows.push_back({text("end to end, " + execution.scenario),
                    text(execution.mode),
                    number(timed ? time_text(execution.median) : "–"),
                    text(timed ? interval_text(execution.interval)
                               : std::string(to_text(execution.outcome.kind)))});
  }
  for (const Bound& bound : model.bounds) {
    rows.push_back({text(bound.kind),
                    text(bound.mode),
                    number(bound.complete ? time_text(bound.seconds) : "–"),
                    text(bound.complete ? interval_text(bound.interval) : "incomplete")});
  }
  page.table({text("what"), text("mode"), number("time"), text("95 %")}, rows);
  rows.clear();
  for (const WhatIfResult& whatif : run.whatifs[index].whatifs) {
    rows.push_back({text(whatif.name),
                    number(whatif.predicted_speedup ? ratio_text(*whatif.predicted_speedup) : "–"),
                    text(whatif.why_not.empty() ? whatif.mode : whatif.why_not)});
  }
  page.table({text("what if"), number("speed-up"), text("how")}, rows);
  rows.clear();
  for (const ModelTimes::Layer& layer : run.times[index].slowest) {
    rows.push_back(
        {text(layer.name), text(layer.op), number(time_text(layer.seconds)), text(layer.variant)});
  }
  page.table({text("slowest layer"), text("operator"), number("time"), text("variant")}, rows);
}

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
  return {text(std::string(to_text(metric.verdict))),
          text(metric.series),
          number(compared ? time_text(Seconds(metric.baseline)) : "–"),
          number(compared ? time_text(Seconds(metric.candidate)) : "–"),
          number(compared ? percent(*metric.ratio) : "–"),
          text(compared ? fmt::format("{} … {}", percent(metric.low), percent(metric.high)) : "–"),
          text(why)};
}

}  // namespace

std::string run_address(const RunId& run) {
  return "/runs/" + percent_encoded(run);
}

std::string model_address(const std::string& model) {
  return "/models/" + percent_encoded(model);
}

void write_overview_page(std::span<const RunRecord> runs,
                         std::span<const SuiteMetrics> suites,
                         bool up,
                         std::ostream& out) {
  HtmlPage page("Plumbline");
  if (!up) {
    page.verdict("The store cannot be read.",
                 "This is what was read last; the server's log says why.",
                 true);
  }
  page.link("metrics", "/metrics");
  add_models(page, suites);
  add_runs(page, runs);
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
    rows.push_back({text(difference.name),
                    text(difference.baseline),
                    text(difference.candidate),
                    text(difference.identity ? "identity" : "recorded")});
  }
  if (!rows.empty()) {
    page.heading("Environment");
    page.table({text("fact"), text("baseline"), text("candidate"), text("")}, rows);
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
  page.table({text("verdict"),
              text("metric"),
              number("baseline"),
              number("candidate"),
              number("change"),
              text("95 %"),
              text("why")},
             rows);
  if (quiet > kQuietLayersShown) {
    page.paragraph(fmt::format("and {} layers without a change", quiet - kQuietLayersShown));
  }
  page.write(out);
}

void write_message_page(const std::string& title, const std::string& text, std::ostream& out) {
  HtmlPage page(title);
  page.paragraph(text);
  page.link("all models and runs", "/");
  page.write(out);
}

}  // namespace plumb
