// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/comparison_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "harness/analysis/report/change_json.hpp"
#include "harness/base/encoding.hpp"
#include "reporting/content/comparison/change_documents.hpp"
#include "reporting/content/comparison/comparison_writers.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

void write_json_document(const analysis::ComparisonReport& report, std::ostream& out) {
  write_json(analysis::comparison_document(report), out);
}

void write_page_file(const analysis::ComparisonReport& report, std::ostream& out) {
  write_comparison_page(report, PagePlace::kFile, out);
}

constexpr std::array<OutputFormat<analysis::ComparisonReport>, 7> kFormats{{
    {".html", "one page that opens offline", write_page_file},
    {".md", "Markdown for a pull request", write_comparison_markdown},
    {".json", "JSON document", write_json_document},
    {".xml", "JUnit", write_comparison_junit},
    {".csv", "CSV of the metrics", write_comparison_csv},
    {".txt", "text", write_comparison_text},
    {".annotations", "workflow commands of GitHub Actions", write_comparison_annotations},
}};

std::string same_software_text(const analysis::ComparisonReport& report) {
  return report.same_software ? fmt::format(
                                    " As far as is recorded, both runs executed the same files "
                                    "with the same settings. Differences below {:.2g} % end to end "
                                    "and {:.2g} % of a layer come from the machine.",
                                    100.0 * report.limits.run_margin,
                                    100.0 * report.limits.run_layer_margin)
                              : "";
}

std::string list_of(const std::vector<analysis::BootComparison::Boot>& boots) {
  std::string text;
  for (const analysis::BootComparison::Boot& boot : boots) {
    text += fmt::format("{}{:.8} ({}, control {})",
                        text.empty() ? "" : ", ",
                        boot.id,
                        fmt::join(boot.runs, " "),
                        time_text(Seconds(boot.control)));
  }
  return text;
}

}  // namespace

std::string deviation_source(const analysis::ProcessDeviation& deviation) {
  return deviation.pairs >= analysis::kMinDeviationPairs
             ? fmt::format("from {} confirmed variants", deviation.pairs)
             : "assumed: too few confirmed variants";
}

std::string title_text(const analysis::ComparisonReport& report) {
  return report.source
             ? report.source->name
             : fmt::format("{} against {}", report.candidate.header.id, report.baseline.header.id);
}

std::string method_text(const analysis::ComparisonReport& report) {
  if (report.source) {
    return report.source->method;
  }
  const analysis::ComparisonLimits& limits = report.limits;
  const std::string floors = floors_text(report.comparison.metrics);
  return fmt::format(
      "Two runs. Where both measured in three restarted processes or more, a change is judged over "
      "these processes and by how much runs of unchanged code differ. Otherwise its interval comes "
      "from both medians and twice the deviation between processes. Over the whole run, at most "
      "{:.2g} % of the reported changes should be false (Benjamini and Hochberg). Minimum effects: "
      "{:.2g} % end to end and {:.2g} % for a layer, where these are larger than the method's own. "
      "'detectable' is the smallest change that such a comparison finds in 80 % of cases.{}{}{}",
      100.0 * limits.alpha,
      100.0 * limits.end_to_end_floor,
      100.0 * limits.layer_floor,
      same_software_text(report),
      floors.empty() ? "" : " Calibration, ",
      floors);
}

std::string command_text(const analysis::ComparisonReport& report) {
  if (report.source) {
    return report.source->command;
  }
  std::string command =
      fmt::format("plumb compare {} {}", report.baseline.header.id, report.candidate.header.id);
  for (const std::string& name : report.varied) {
    command += " --vary " + shell_quoted(name);
  }
  return command;
}

void write_run_comparison(const analysis::ComparisonReport& report,
                          OutputMode style,
                          std::ostream& out) {
  (style == OutputMode::kText ? write_comparison_text : write_json_document)(report, out);
}

void write_measured_runs(std::span<const analysis::RunReport> reports,
                         std::span<const analysis::ComparisonReport> comparisons,
                         std::ostream& out) {
  std::vector<analysis::Json> runs;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    runs.push_back(analysis::bounds_document(reports[i]));
    if (i < comparisons.size()) {
      runs.back()["comparison"] = analysis::comparison_document(comparisons[i]);
    }
  }
  write_json(runs.size() == 1
                 ? runs.front()
                 : analysis::Json{{"schema_version", analysis::kJsonSchemaVersion}, {"runs", runs}},
             out);
}

std::span<const OutputFormat<analysis::ComparisonReport>> comparison_formats() {
  return kFormats;
}

analysis::ComparisonReport::Source boot_source(const analysis::ComparisonReport& report) {
  const analysis::ComparisonReport::Boots& boots = *report.boots;
  const analysis::ComparisonLimits& limits = report.limits;
  analysis::ComparisonReport::Source source;
  source.name =
      fmt::format("{} boots against {} boots", boots.candidate.size(), boots.baseline.size());
  source.method = fmt::format(
      "The sides are compared over boots, for what cannot be switched within one boot: a boot is "
      "the unit of replication. Each time is divided by the time of a fixed product, which its run "
      "measured at its beginning and end, and scaled to {}. The sides are compared by trimmed "
      "means with Yuen's errors and Welch's degrees of freedom. End to end is tested at {:.2g} %. "
      "Among layers, {:.2g} % of the reported changes may be false (Benjamini and Hochberg).",
      time_text(boots.control),
      100.0 * limits.alpha,
      100.0 * limits.false_discovery_rate);
  source.command = "plumb compare " + shell_quoted(boots.baseline_name) + " " +
                   shell_quoted(boots.candidate_name);
  for (const std::string& name : report.varied) {
    source.command += " --vary " + shell_quoted(name);
  }
  source.facts = {{"boots", list_of(boots.baseline), list_of(boots.candidate)}};
  if (!boots.baseline_left_out.empty() || !boots.candidate_left_out.empty()) {
    const auto text = [](const std::string& left_out) {
      return left_out.empty() ? std::string("none") : left_out.substr(2);
    };
    source.facts.push_back(
        {"left out", text(boots.baseline_left_out), text(boots.candidate_left_out)});
  }
  return source;
}

namespace {

/// Returns the worst verdict of all answers. What is open comes before what is settled.
analysis::ComparisonVerdict find_worst(const std::vector<analysis::PairedComparison>& answers) {
  for (const analysis::ComparisonVerdict verdict : {analysis::ComparisonVerdict::kBroken,
                                                    analysis::ComparisonVerdict::kRegressed,
                                                    analysis::ComparisonVerdict::kInconclusive,
                                                    analysis::ComparisonVerdict::kImproved,
                                                    analysis::ComparisonVerdict::kEquivalent}) {
    if (std::any_of(answers.begin(), answers.end(), [&](const analysis::PairedComparison& answer) {
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

analysis::ComparisonReport as_comparison(const PairedReport& report) {
  analysis::ComparisonReport comparison;
  comparison.limits = report.limits;
  comparison.comparison.verdict = find_worst(report.answers);
  comparison.source = analysis::ComparisonReport::Source{.name = "paired rounds of " + report.file,
                                                         .method = method_of(report),
                                                         .command = command_of(report),
                                                         .facts = {}};
  for (const analysis::PairedComparison& answer : report.answers) {
    for (analysis::MetricComparison metric : answer.metrics) {
      metric.model = answer.id;
      metric.series = answer.id + "/" + metric.series;
      if (answer.attribution && metric.kind == analysis::MetricKind::kEndToEnd) {
        const analysis::PairedComparison::Attribution& attribution = *answer.attribution;
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
