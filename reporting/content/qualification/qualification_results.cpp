// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/qualification/qualification_writers.hpp"
#include "reporting/document/escaped_text.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {

std::string verdict_words(analysis::QualificationVerdict verdict) {
  std::string words{to_text(verdict)};
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

void begin_part(int number, const std::string& title, Page& page) {
  page.heading(page.extent() == Extent::kTerminal ? title : fmt::format("{}. {}", number, title));
}

namespace {

constexpr std::size_t kExtremes = 10;
constexpr std::size_t kMaxLibraries = 60;

/// Returns a verdict as a sentence: "Not enough evidence."
std::string verdict_sentence(analysis::QualificationVerdict verdict) {
  std::string sentence = verdict_words(verdict) + ".";
  sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
  return sentence;
}

Tone tone_of_answer(analysis::QualificationVerdict verdict) {
  return verdict == analysis::QualificationVerdict::kApprove  ? Tone::kGood
         : verdict == analysis::QualificationVerdict::kReject ? Tone::kBad
                                                              : Tone::kWarning;
}

void add_answer(const analysis::Qualification& q, Page& page) {
  if (page.extent() == Extent::kTerminal) {
    page.paragraph(q.reason);  // the title has the verdict
    return;
  }
  begin_part(1, "Question and verdict", page);
  page.verdict(verdict_sentence(q.verdict), q.reason, tone_of_answer(q.verdict));
  page.table({text_cell("report"), text_cell("measured from"), text_cell("to")},
             {{text_cell(q.candidate.run),
               text_cell(to_text(q.started)),
               text_cell(q.complete ? to_text(q.finished)
                                    : to_text(q.finished) + ", stopped before its end")}});
}

void add_facts(const std::string& what,
               const std::vector<analysis::EnvironmentDifference>& facts,
               Page& page) {
  page.subheading(what);
  if (facts.empty()) {
    page.paragraph("none");
    return;
  }
  std::vector<PageRow> rows;
  rows.reserve(facts.size());
  for (const analysis::EnvironmentDifference& fact : facts) {
    rows.push_back({text_cell(fact.name),
                    text_cell(fact.baseline.empty() ? "–" : fact.baseline),
                    text_cell(fact.candidate.empty() ? "–" : fact.candidate),
                    text_cell(fact.identity ? "identity" : "recorded")});
  }
  page.table({text_cell("fact"), text_cell("baseline"), text_cell("candidate"), text_cell("")},
             rows);
}

void add_scope(const analysis::Qualification& q, Page& page) {
  begin_part(2, "Scope", page);
  std::set<std::string> models;
  std::set<std::string> modes;
  for (const analysis::QualifiedMetric& metric : q.models) {
    models.insert(metric.subject);
    modes.insert(metric.mode);
  }
  page.paragraph(
      fmt::format("Suite {} ({:.12}): {} models end to end ({}), {} unique layers. From {}, "
                  "environment {}, to {}, environment {}.",
                  q.suite,
                  q.suite_hash,
                  models.size(),
                  modes.empty() ? "no mode" : fmt::format("{}", fmt::join(modes, ", ")),
                  q.layers.size(),
                  stack_label(q.baseline),
                  q.baseline.environment,
                  stack_label(q.candidate),
                  q.candidate.environment));
  std::vector<PageRow> rows;
  for (const analysis::Qualification::Stack* stack : {&q.baseline, &q.candidate}) {
    for (const auto& [name, value] : stack->libraries) {
      if (rows.size() < kMaxLibraries) {
        rows.push_back({text_cell(stack->name), text_cell(name), code_cell(value)});
      }
    }
  }
  if (!rows.empty()) {
    page.table({text_cell("stack"), text_cell("what was really loaded"), text_cell("")}, rows);
  }
  add_facts("What differs", q.differences, page);
  add_facts("What must not differ, and does not", q.unchanged, page);
  page.subheading("Not measured, and what else to know");
  if (q.notes.empty()) {
    page.paragraph("nothing that the suite names was left out");
  }
  for (const std::string& note : q.notes) {
    page.paragraph(note);
  }
}

Tone tone_of_state(analysis::CriterionState state) {
  return state == analysis::CriterionState::kMet      ? Tone::kGood
         : state == analysis::CriterionState::kFailed ? Tone::kBad
                                                      : Tone::kWarning;
}

void add_criteria(const analysis::Qualification& q,
                  const std::map<std::string, std::string>& places,
                  Page& page) {
  begin_part(3, "Criteria", page);
  const bool terminal = page.extent() == Extent::kTerminal;
  if (!terminal) {
    page.paragraph(q.criteria.file.empty()
                       ? std::string("The defaults of the program: no file was given.")
                       : fmt::format("{} in {}, SHA-256 {}.",
                                     q.judged_again ? "Applied after the measurement, as written"
                                                    : "Fixed before the run",
                                     q.criteria.file,
                                     q.criteria.sha256));
  }
  PageRow head{text_cell("state"), text_cell("criterion"), text_cell("limit"), text_cell("found")};
  if (!terminal) {
    head.push_back(text_cell("cases that fail or stay open"));
  }
  std::vector<PageRow> rows;
  for (const analysis::CriterionResult& result : q.results) {
    constexpr std::size_t kMaxCases = 5;
    std::string cases;
    for (std::size_t i = 0; i < std::min(kMaxCases, result.cases.size()); ++i) {
      cases += (i > 0 ? "; " : "") + named_key(result.cases[i], places);
    }
    if (result.cases.size() > kMaxCases) {
      cases += fmt::format("; and {} more", result.cases.size() - kMaxCases);
    }
    rows.push_back({word_cell(std::string(to_text(result.state)), tone_of_state(result.state)),
                    text_cell(result.criterion),
                    text_cell(result.limit),
                    text_cell(result.found)});
    if (!terminal) {
      rows.back().push_back(text_cell(std::move(cases)));
    }
  }
  page.table(head, rows);
}

/// Returns a row with the number of metrics of each verdict. What has no ratio and is not broken
/// counts as not comparable.
PageRow classes(const std::string& what, std::span<const analysis::QualifiedMetric> metrics) {
  VerdictCounts counts;
  std::size_t unlike = 0;
  for (const analysis::QualifiedMetric& metric : metrics) {
    const bool broken = metric.test.verdict == analysis::ComparisonVerdict::kBroken;
    if (!metric.test.ratio && !broken) {
      ++unlike;
      continue;
    }
    const VerdictCounts one = verdict_counts({&metric.test, 1});
    counts.broken += one.broken;
    counts.regressed += one.regressed;
    counts.improved += one.improved;
    counts.equivalent += one.equivalent;
    counts.inconclusive += one.inconclusive;
  }
  PageRow row{text_cell(what)};
  for (const std::size_t count : {counts.broken,
                                  counts.regressed,
                                  counts.improved,
                                  counts.equivalent,
                                  counts.inconclusive,
                                  unlike,
                                  metrics.size()}) {
    row.push_back(number_cell(std::to_string(count)));
  }
  return row;
}

void add_summary(const analysis::Qualification& q,
                 const analysis::RunComparisonReport& compared,
                 Page& page) {
  begin_part(4, "Summary", page);
  page.table({text_cell(""),
              number_cell("broken"),
              number_cell("regressed"),
              number_cell("improved"),
              number_cell("equivalent"),
              number_cell("not enough evidence"),
              number_cell("not comparable"),
              number_cell("all")},
             {classes("models, each in each mode", q.models), classes("unique layers", q.layers)});
  if (page.extent() == Extent::kTerminal) {
    return;  // what changed follows, and a criterion has the geometric means
  }
  std::vector<PageRow> rows;
  for (const analysis::ModeMean& mean : q.geometric_means) {
    rows.push_back({text_cell(mean.mode),
                    number_cell(std::to_string(mean.models)),
                    number_cell(fmt::format("{:.4f}", mean.value)),
                    number_cell(fmt::format("{:.4f} … {:.4f}", mean.low, mean.high))});
  }
  if (rows.empty()) {
    page.paragraph("Geometric mean of the speed-ups: not measured.");
  } else {
    page.table({text_cell("mode"),
                number_cell("models"),
                number_cell("geometric mean of the speed-ups"),
                number_cell("95 %")},
               rows);
  }
  page.paragraph(fmt::format("Cost: {} rounds in {}.", q.rounds, age_text(q.started, q.finished)));
  const MetricList extremes = extreme_layers(compared.comparison.metrics, kExtremes);
  if (!extremes.empty()) {
    page.subheading("The layers with the largest slow-downs and speed-ups");
    add_metric_table(extremes, compared.places, page);
  }
}

}  // namespace

void add_qualification_results(const analysis::QualificationReport& report, Page& page) {
  const analysis::Qualification& q = report.qualification;
  const analysis::RunComparisonReport compared = as_comparison(q);
  add_answer(q, page);
  if (page.extent() != Extent::kTerminal) {
    add_scope(q, page);
  }
  add_criteria(q, compared.places, page);
  add_summary(q, compared, page);
}

void write_qualification_csv(const analysis::QualificationReport& report, std::ostream& out) {
  out << csv_row({"subject",
                  "mode",
                  "baseline_seconds",
                  "candidate_seconds",
                  "ratio",
                  "low",
                  "high",
                  "pairs",
                  "verdict",
                  "waived",
                  "baseline_variant",
                  "candidate_variant",
                  "reason",
                  "place"});
  const analysis::Qualification& q = report.qualification;
  for (const auto* metrics : {&q.models, &q.layers}) {
    for (const analysis::QualifiedMetric& metric : *metrics) {
      const analysis::MetricComparison& test = metric.test;
      const auto known = [&](double value) {
        return csv_number(test.ratio ? std::optional(value) : std::nullopt);
      };
      out << csv_row({metric.subject,
                      metric.mode,
                      known(test.baseline),
                      known(test.candidate),
                      csv_number(test.ratio),
                      known(test.low),
                      known(test.high),
                      std::to_string(metric.baseline_seconds.size()),
                      std::string(to_text(test.verdict)),
                      metric.waived_by,
                      metric.baseline_variant,
                      metric.candidate_variant,
                      test.reason,
                      metric.place});
    }
  }
}

}  // namespace plumb::reporting
