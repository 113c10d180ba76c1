// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/qualification/qualification_report.hpp"

#include <fmt/format.h>

#include <array>
#include <ostream>

#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/qualification/qualification_writers.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/formats/html_page.hpp"
#include "reporting/formats/markdown_page.hpp"

namespace plumb {
namespace {

template <typename Built>
void write_as(const QualificationReport& report, std::ostream& out) {
  Built page(question_of(report.qualification));
  add_qualification_results(report, page);
  add_qualification_details(report, page);
  add_qualification_evidence(report, page);
  page.write(out);
}

void write_json_document(const QualificationReport& report, std::ostream& out) {
  Json document{{"schema_version", kJsonSchemaVersion}};
  document.update(Json::parse(to_json(report.qualification)));
  document["history"] = Json::array();
  for (const PastQualification& past : report.history) {
    document["history"].push_back({{"run", past.run},
                                   {"finished", to_text(past.finished)},
                                   {"verdict", to_text(past.verdict)},
                                   {"reason", past.reason}});
  }
  write_json(document, out);
}

void write_junit(const QualificationReport& report, std::ostream& out) {
  write_comparison_junit(as_comparison(report.qualification), out);
}

void write_annotations(const QualificationReport& report, std::ostream& out) {
  write_comparison_annotations(as_comparison(report.qualification), out);
}

constexpr std::array<OutputFormat<QualificationReport>, 6> kFormats{{
    {".html", "one page that opens offline, to print and sign", write_as<HtmlPage>},
    {".md", "Markdown", write_as<MarkdownPage>},
    {".csv", "CSV of the metrics", write_qualification_csv},
    {".json", "JSON document", write_json_document},
    {".xml", "JUnit", write_junit},
    {".annotations", "workflow commands of GitHub Actions", write_annotations},
}};

MetricComparison named(const QualifiedMetric& metric, bool layer) {
  MetricComparison test = metric.test;
  test.kind = layer ? "layer" : "end_to_end";
  test.model = layer ? "" : metric.subject;
  test.series = layer ? "layers/" + metric.subject
                      : fmt::format("models/{}/end_to_end/{}", metric.subject, metric.mode);
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

ComparisonVerdict verdict_of(QualificationVerdict verdict) {
  switch (verdict) {
    case QualificationVerdict::kApprove:
    case QualificationVerdict::kApproveWithExceptions:
      return ComparisonVerdict::kEquivalent;
    case QualificationVerdict::kReject:
      return ComparisonVerdict::kRegressed;
    case QualificationVerdict::kNotEnoughEvidence:
      return ComparisonVerdict::kInconclusive;
  }
  return ComparisonVerdict::kInconclusive;
}

}  // namespace

std::string question_of(const Qualification& qualification) {
  return fmt::format(
      "May {} take the place of {}?", qualification.candidate.name, qualification.baseline.name);
}

RunComparisonReport as_comparison(const Qualification& qualification) {
  RunComparisonReport report;
  const auto side = [&](const QualifiedStack& stack, RunRecord& run) {
    run.header.id = stack.run;
    run.header.suite = qualification.suite;
    run.header.stack = stack.name;
    run.header.started = qualification.started;
  };
  side(qualification.baseline, report.baseline);
  side(qualification.candidate, report.candidate);
  report.comparison.verdict = verdict_of(qualification.verdict);
  for (const QualifiedMetric& model : qualification.models) {
    report.comparison.metrics.push_back(named(model, false));
  }
  for (const QualifiedMetric& layer : qualification.layers) {
    report.comparison.metrics.push_back(named(layer, true));
    if (!layer.models.empty()) {
      report.places[layer.subject] = fmt::format("{}", fmt::join(layer.models, ", "));
    }
  }
  return report;
}

std::span<const OutputFormat<QualificationReport>> qualification_formats() {
  return kFormats;
}

}  // namespace plumb
