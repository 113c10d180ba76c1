// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/paired_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "harness/base/shell_word.hpp"
#include "reporting/content/comparison/change_documents.hpp"
#include "reporting/content/comparison/comparison_page.hpp"
#include "reporting/content/comparison/comparison_report.hpp"
#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/comparison/metric_rows.hpp"

namespace plumb::reporting {
namespace {

/// Returns the worst verdict of all answers. What is open comes before what is settled.
analysis::ComparisonVerdict find_worst(const std::vector<analysis::PairedAnswer>& answers) {
  for (const analysis::ComparisonVerdict verdict : {analysis::ComparisonVerdict::kBroken,
                                                    analysis::ComparisonVerdict::kRegressed,
                                                    analysis::ComparisonVerdict::kInconclusive,
                                                    analysis::ComparisonVerdict::kImproved,
                                                    analysis::ComparisonVerdict::kEquivalent}) {
    if (std::any_of(answers.begin(), answers.end(), [&](const analysis::PairedAnswer& answer) {
          return answer.verdict == verdict;
        })) {
      return verdict;
    }
  }
  return analysis::ComparisonVerdict::kInconclusive;
}

std::string command_of(const PairedReport& report) {
  return fmt::format("plumb compare --samples {}{} --alpha {} --fdr {} --floor {} --layer-floor {}",
                     shell_quoted(report.file),
                     report.sequential ? " --sequential" : "",
                     report.limits.alpha,
                     report.limits.false_discovery_rate,
                     report.limits.end_to_end_floor,
                     report.limits.layer_floor);
}

std::string method_of(const PairedReport& report) {
  return fmt::format(
      "Paired rounds: round i of the baseline was measured next to round i of the candidate. A "
      "change is the 10 % trimmed mean of ln(candidate ÷ baseline) over the pairs, with Yuen's "
      "standard error. The variances of layers are moderated over all layers. {} End to end is "
      "tested at {:.2g} %. Among layers, {:.2g} % of the reported changes may be false (Benjamini "
      "and Hochberg). Minimum effects: {:.2g} % end to end, {:.2g} % for a layer. 'detectable' is "
      "the smallest change that this number of pairs with this noise finds in 80 % of cases.",
      report.sequential ? "The pairs are judged in their order by the sequential rule, as plumb "
                          "qualify judges them while they are measured."
                        : "All pairs are judged at once.",
      100.0 * report.limits.alpha,
      100.0 * report.limits.false_discovery_rate,
      100.0 * report.limits.end_to_end_floor,
      100.0 * report.limits.layer_floor);
}

analysis::RunComparisonReport as_comparison(const PairedReport& report) {
  analysis::RunComparisonReport comparison;
  comparison.limits = report.limits;
  comparison.comparison.verdict = find_worst(report.answers);
  comparison.source = analysis::ComparisonSource{.name = "paired rounds of " + report.file,
                                                 .method = method_of(report),
                                                 .command = command_of(report),
                                                 .facts = {}};
  for (const analysis::PairedAnswer& answer : report.answers) {
    for (analysis::MetricComparison metric : answer.metrics) {
      metric.model = answer.id;
      metric.series = answer.id + "/" + metric.series;
      if (answer.attribution && metric.kind == analysis::MetricKind::kEndToEnd) {
        const analysis::Attribution& attribution = *answer.attribution;
        metric.reason +=
            fmt::format("{}{:+.4g} s, of which layers {:+.4g} s, unexplained {:+.4g} s",
                        metric.reason.empty() ? "" : "; ",
                        attribution.delta_seconds,
                        attribution.delta_seconds - attribution.unexplained_seconds,
                        attribution.unexplained_seconds);
      }
      comparison.comparison.metrics.push_back(std::move(metric));
    }
  }
  return comparison;
}

template <auto write>
void write_as(const PairedReport& report, std::ostream& out) {
  write(as_comparison(report), out);
}

void write_page_file(const PairedReport& report, std::ostream& out) {
  write_comparison_page(as_comparison(report), PagePlace::kFile, out);
}

void write_json_document(const PairedReport& report, std::ostream& out) {
  write_comparisons(report.answers, OutputMode::kJson, out);
}
void write_text(const PairedReport& report, std::ostream& out) {
  write_comparisons(report.answers, OutputMode::kText, out);
}

constexpr std::array<OutputFormat<PairedReport>, 6> kPairedFormats{{
    {".html", "one page that opens offline", write_page_file},
    {".md", "Markdown for a pull request", write_as<write_comparison_markdown>},
    {".json", "JSON document", write_json_document},
    {".xml", "JUnit", write_as<write_comparison_junit>},
    {".txt", "text", write_text},
    {".annotations", "workflow commands of GitHub Actions", write_as<write_comparison_annotations>},
}};

}  // namespace

std::span<const OutputFormat<PairedReport>> paired_formats() {
  return kPairedFormats;
}

}  // namespace plumb::reporting
