// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/qualification/qualification_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "harness/results/series/series_name.hpp"
#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {
namespace {

/// Returns the question, and on a terminal its answer.
template <typename Built>
std::string title_of(const analysis::Qualification& q) {
  return std::is_same_v<Built, TextPage> ? fmt::format("{}: {} → {}: {}",
                                                       q.suite,
                                                       stack_label(q.baseline),
                                                       stack_label(q.candidate),
                                                       verdict_words(q.verdict))
                                         : question_of(q);
}

template <typename Built>
void write_as(const analysis::QualificationReport& report, std::ostream& out) {
  Built page(title_of<Built>(report.qualification));
  add_qualification_results(report, page);
  add_qualification_details(report, page);
  add_qualification_evidence(report, page);
  page.write(out);
}

void write_json_document(const analysis::QualificationReport& report, std::ostream& out) {
  analysis::Json document{{"schema_version", analysis::kJsonSchemaVersion}};
  document.update(analysis::Json::parse(to_json(report.qualification)));
  document["history"] = analysis::Json::array();
  for (const analysis::QualificationReport::Past& past : report.history) {
    document["history"].push_back({{"run", past.run},
                                   {"finished", to_text(past.finished)},
                                   {"verdict", to_text(past.verdict)},
                                   {"reason", past.reason}});
  }
  write_json(document, out);
}

void write_junit(const analysis::QualificationReport& report, std::ostream& out) {
  write_comparison_junit(as_comparison(report.qualification), out);
}

void write_annotations(const analysis::QualificationReport& report, std::ostream& out) {
  write_comparison_annotations(as_comparison(report.qualification), out);
}

constexpr std::array<OutputFormat<analysis::QualificationReport>, 7> kFormats{{
    {".html", "one page that opens offline, to print and sign", write_as<HtmlPage>},
    {".md", "Markdown", write_as<MarkdownPage>},
    {".csv", "CSV of the metrics", write_qualification_csv},
    {".json", "JSON document", write_json_document},
    {".xml", "JUnit", write_junit},
    {".txt", "text", write_as<TextPage>},
    {".annotations", "workflow commands of GitHub Actions", write_annotations},
}};

/// Returns the name that people know a library by: "oneDNN" of "onednn-3.2.0-0123456789abcdef".
std::string library_name(const std::string& identity) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNames{
      {{"onednn", "oneDNN"},
       {"cudnn", "cuDNN"},
       {"onnxruntime", "ONNX Runtime"},
       {"pytorch", "PyTorch"}}};
  const std::string name = identity.substr(0, identity.find_first_of("- "));
  const auto* const known = std::find_if(
      kNames.begin(), kNames.end(), [&](const auto& each) { return each.first == name; });
  return known == kNames.end() ? name : std::string(known->second);
}

analysis::MetricComparison named(const analysis::RoundComparison::Metric& metric, bool layer) {
  analysis::MetricComparison test = metric.test;
  test.kind = layer ? analysis::MetricKind::kLayer : analysis::MetricKind::kEndToEnd;
  test.model = layer ? "" : metric.subject;
  test.series = layer ? results::layer_series(metric.subject)
                      : results::shown_series(metric.subject, metric.mode);
  const auto add = [&](const std::string& text) {
    test.reason += (test.reason.empty() ? "" : "; ") + text;
  };
  if (!metric.baseline_seconds.empty()) {
    add(fmt::format("{} pairs", metric.baseline_seconds.size()));
  }
  if (layer && metric.baseline_variant != metric.candidate_variant) {
    add(metric.baseline_variant + " → " + metric.candidate_variant);
  }
  if (!metric.waived_by.empty()) {
    add("waived: " + metric.waived_by);
  }
  return test;
}

analysis::ComparisonVerdict verdict_of(analysis::QualificationVerdict verdict) {
  switch (verdict) {
    case analysis::QualificationVerdict::kApprove:
    case analysis::QualificationVerdict::kApproveWithExceptions:
      return analysis::ComparisonVerdict::kEquivalent;
    case analysis::QualificationVerdict::kReject:
      return analysis::ComparisonVerdict::kRegressed;
    case analysis::QualificationVerdict::kNotEnoughEvidence:
      return analysis::ComparisonVerdict::kInconclusive;
  }
  return analysis::ComparisonVerdict::kInconclusive;
}

}  // namespace

std::string stack_label(const analysis::Qualification::Stack& stack) {
  const auto value = [&](const char* name) {
    const auto found = stack.libraries.find(name);
    return found == stack.libraries.end() ? std::string() : found->second;
  };
  std::string library = value("library");
  if (const std::string version = value("library.version"); !version.empty()) {
    const std::string name = library_name(library);
    library = name.empty() ? version : name + " " + version;
  }
  return library.empty() ? stack.name : fmt::format("{} ({})", library, stack.name);
}

std::string question_of(const analysis::Qualification& qualification) {
  return fmt::format("May {} replace {}?",
                     stack_label(qualification.candidate),
                     stack_label(qualification.baseline));
}

analysis::ComparisonReport as_comparison(const analysis::Qualification& qualification) {
  analysis::ComparisonReport report;
  const auto side = [&](const analysis::Qualification::Stack& stack, results::RunRecord& run) {
    run.header.id = stack.run;
    run.header.suite = qualification.suite;
    run.header.stack = stack_label(stack);
    run.header.started = qualification.started;
  };
  side(qualification.baseline, report.baseline);
  side(qualification.candidate, report.candidate);
  report.comparison.verdict = verdict_of(qualification.verdict);
  for (const analysis::RoundComparison::Metric& model : qualification.models) {
    report.comparison.metrics.push_back(named(model, false));
  }
  for (const analysis::RoundComparison::Metric& layer : qualification.layers) {
    report.comparison.metrics.push_back(named(layer, true));
    // Qualifications of earlier versions know the models alone.
    if (!layer.place.empty() || !layer.models.empty()) {
      report.places[layer.subject] =
          layer.place.empty() ? fmt::format("{}", fmt::join(layer.models, ", ")) : layer.place;
    }
  }
  return report;
}

std::span<const OutputFormat<analysis::QualificationReport>> qualification_formats() {
  return kFormats;
}

void write_qualification(const analysis::QualificationReport& report,
                         OutputMode style,
                         std::ostream& out) {
  (style == OutputMode::kText ? write_as<TextPage> : write_json_document)(report, out);
}

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

PageCell::Tone tone_of_answer(analysis::QualificationVerdict verdict) {
  return verdict == analysis::QualificationVerdict::kApprove  ? PageCell::Tone::kGood
         : verdict == analysis::QualificationVerdict::kReject ? PageCell::Tone::kBad
                                                              : PageCell::Tone::kWarning;
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
  for (const analysis::RoundComparison::Metric& metric : q.models) {
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

PageCell::Tone tone_of_state(analysis::Qualification::Criterion::State state) {
  return state == analysis::Qualification::Criterion::State::kMet      ? PageCell::Tone::kGood
         : state == analysis::Qualification::Criterion::State::kFailed ? PageCell::Tone::kBad
                                                                       : PageCell::Tone::kWarning;
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
  for (const analysis::Qualification::Criterion& result : q.results) {
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
PageRow classes(const std::string& what,
                std::span<const analysis::RoundComparison::Metric> metrics) {
  VerdictCounts counts;
  std::size_t unlike = 0;
  for (const analysis::RoundComparison::Metric& metric : metrics) {
    const bool broken = metric.test.verdict == analysis::ComparisonVerdict::kBroken;
    if (!metric.test.ratio && !broken) {
      ++unlike;
      continue;
    }
    ++counts[metric.test.verdict];
  }
  PageRow row{text_cell(what)};
  using Verdict = analysis::ComparisonVerdict;
  for (const std::size_t count : {counts[Verdict::kBroken],
                                  counts[Verdict::kRegressed],
                                  counts[Verdict::kImproved],
                                  counts[Verdict::kEquivalent],
                                  counts[Verdict::kInconclusive],
                                  unlike,
                                  metrics.size()}) {
    row.push_back(number_cell(std::to_string(count)));
  }
  return row;
}

void add_summary(const analysis::Qualification& q,
                 const analysis::ComparisonReport& compared,
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
  for (const analysis::Qualification::Mean& mean : q.geometric_means) {
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
  const analysis::ComparisonReport compared = as_comparison(q);
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
    for (const analysis::RoundComparison::Metric& metric : *metrics) {
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
