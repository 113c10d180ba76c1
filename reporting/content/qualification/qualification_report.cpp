// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/qualification/qualification_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <utility>

#include "harness/results/series/series_name.hpp"
#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/qualification/qualification_writers.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/formats/html_page.hpp"
#include "reporting/formats/text_page.hpp"

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

analysis::MetricComparison named(const analysis::QualifiedMetric& metric, bool layer) {
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

analysis::RunComparisonReport as_comparison(const analysis::Qualification& qualification) {
  analysis::RunComparisonReport report;
  const auto side = [&](const analysis::Qualification::Stack& stack, results::RunRecord& run) {
    run.header.id = stack.run;
    run.header.suite = qualification.suite;
    run.header.stack = stack_label(stack);
    run.header.started = qualification.started;
  };
  side(qualification.baseline, report.baseline);
  side(qualification.candidate, report.candidate);
  report.comparison.verdict = verdict_of(qualification.verdict);
  for (const analysis::QualifiedMetric& model : qualification.models) {
    report.comparison.metrics.push_back(named(model, false));
  }
  for (const analysis::QualifiedMetric& layer : qualification.layers) {
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

}  // namespace plumb::reporting
