// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/execution_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/report/run_json.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kShownFindings = 8;
constexpr std::size_t kNamedLayers = 3;
constexpr std::size_t kLongestEvidence = 100;

std::string layer_names(const model::Graph& graph,
                        const std::vector<model::LayerId>& layers,
                        std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, layers.size()); ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", graph.layers.at(layers[i]).name);
  }
  return layers.size() > most ? fmt::format("{} and {} more", text, layers.size() - most) : text;
}

std::string percent_text(Seconds part, Seconds whole) {
  return whole > Seconds(0.0) ? share_text(part / whole) : "–";
}

void write_head(const analysis::TraceReport& report, std::ostream& out) {
  const analysis::TraceReport::Matched& matched = report.matched;
  out << sanitize_utf8(report.model);
  if (!report.mode.empty()) {
    out << sanitize_utf8(fmt::format(", mode {}, on {}", report.mode, report.stack));
  }
  out << fmt::format(
      "\n  traced     {} in {} calls", time_text(matched.traced), matched.calls.size());
  if (matched.executions > 1) {
    out << fmt::format(", the median one of {} executions", matched.executions);
  }
  out << fmt::format("\n  matched    {} of it to layers of the model\n",
                     percent_text(matched.matched, matched.traced));
  if (report.untraced) {
    out << fmt::format("  untraced   {} without the profiler\n", time_text(*report.untraced));
  }
  if (!matched.not_executed.empty()) {
    out << sanitize_utf8(fmt::format("  no call    {} layers: {}",
                                     matched.not_executed.size(),
                                     layer_names(report.graph, matched.not_executed, kNamedLayers)))
        << '\n';
  }
  if (report.left_out > 0) {
    out << fmt::format("  left out   {} broken lines or events\n", report.left_out);
  }
  if (report.device_calls > 0) {
    out << fmt::format(
        "  not read   {} kernels and copies of a GPU: times are those of operators on the "
        "processor\n",
        report.device_calls);
  }
}

/// Adds a finding to the table, and the places that it adds up.
void add_finding(const analysis::TraceReport& report,
                 const analysis::TraceReport::Finding& finding,
                 const std::string& name,
                 Detail detail,
                 AlignedTable& table) {
  std::string evidence = finding.evidence;
  if (detail == Detail::kShort && evidence.size() > kLongestEvidence) {
    evidence = evidence.substr(0, kLongestEvidence) + "…";
  }
  // Of the mean execution, while shares are of the median one.
  const bool of_mean = finding.kind == analysis::TraceReport::Finding::Kind::kRecompilation;
  table.add({name,
             time_text(finding.time),
             of_mean ? "–" : percent_text(finding.time, report.matched.span()),
             layer_names(report.graph, finding.layers, kNamedLayers),
             std::move(evidence)});
  for (const analysis::TraceReport::Finding& place : finding.places) {
    if (detail == Detail::kAll) {
      add_finding(report, place, "  place", detail, table);
    }
  }
}

void write_trace_findings(const analysis::TraceReport& report, std::ostream& out, Detail detail) {
  AlignedTable table({{"finding"}, {"time", true}, {"share", true}, {"layers"}, {"evidence"}});
  std::size_t shown = 0;
  std::size_t hidden = 0;
  for (const analysis::TraceReport::Finding& finding : report.findings) {
    const bool fault = is_loss(finding.kind) && !finding.minor;
    const bool precision = finding.kind == analysis::TraceReport::Finding::Kind::kLowerPrecision;
    if (detail == Detail::kShort && ((!fault && !precision) || shown == kShownFindings)) {
      ++hidden;
      continue;
    }
    ++shown;
    add_finding(report, finding, std::string(to_text(finding.kind)), detail, table);
  }
  if (shown == 0) {
    out << "\nno findings that lose time\n";
  } else {
    out << '\n';
    table.write(out);
  }
  if (hidden > 0) {
    out << fmt::format("{} more with --all\n", hidden);
  }
}

void write_calls(const analysis::TraceReport& report, std::ostream& out) {
  AlignedTable table({{"executed"}, {"time", true}, {"implementation"}, {"expected"}});
  for (const analysis::TraceReport::Matched::Call& call : report.matched.calls) {
    table.add({call.call.name.empty() ? call.call.operation
                                      : fmt::format("{} {}", call.call.operation, call.call.name),
               time_text(call.call.duration),
               call.call.implementation,
               call.layers.empty() ? "not matched"
                                   : layer_names(report.graph, call.layers, kNamedLayers)});
  }
  out << '\n';
  table.write(out);
}

}  // namespace

void write_trace_difference(const analysis::TraceReport& before,
                            const analysis::TraceReport& after,
                            const analysis::TraceReport::Difference& difference,
                            OutputMode style,
                            std::ostream& out,
                            Detail detail) {
  if (style == OutputMode::kJson) {
    out << analysis::document_text(analysis::difference_document(before, after, difference))
        << '\n';
    return;
  }
  out << sanitize_utf8(before.model) << '\n'
      << fmt::format("  before      {}: {}\n  after       {}: {}\n",
                     sanitize_utf8(execution_name(before)),
                     time_text(difference.before),
                     sanitize_utf8(execution_name(after)),
                     time_text(difference.after))
      << fmt::format("  difference  {}\n\n", change_text(difference.after - difference.before));
  AlignedTable table({{"layers"},
                      {"before", true},
                      {"after", true},
                      {"computing", true},
                      {"moving", true},
                      {"difference", true}});
  Seconds others{};
  std::size_t shown = 0;
  for (const analysis::TraceReport::Difference::Layer& each : difference.layers) {
    if (detail == Detail::kShort && shown == kShownFindings) {
      others += each.change();
      continue;
    }
    ++shown;
    table.add({layer_names(before.graph, each.layers, kNamedLayers),
               time_text(each.before.computing + each.before.moving),
               time_text(each.after.computing + each.after.moving),
               change_text(each.after.computing - each.before.computing),
               change_text(each.after.moving - each.before.moving),
               change_text(each.change())});
  }
  if (shown < difference.layers.size()) {
    table.add({fmt::format("{} more with --all", difference.layers.size() - shown),
               "",
               "",
               "",
               "",
               change_text(others)});
  }
  const auto add_rest = [&](const char* name,
                            Seconds analysis::TraceReport::Difference::Rest::*part) {
    const Seconds one = difference.rest_before.*part;
    const Seconds other = difference.rest_after.*part;
    table.add({name, time_text(one), time_text(other), "", "", change_text(other - one)});
  };
  add_rest("gaps", &analysis::TraceReport::Difference::Rest::gaps);
  add_rest("not matched", &analysis::TraceReport::Difference::Rest::unmatched);
  table.write(out);
}

void write_trace(const analysis::TraceReport& report,
                 OutputMode style,
                 std::ostream& out,
                 Detail detail) {
  if (style == OutputMode::kJson) {
    out << analysis::document_text(analysis::trace_document(report)) << '\n';
    return;
  }
  write_head(report, out);
  write_trace_findings(report, out, detail);
  if (detail == Detail::kAll) {
    write_calls(report, out);
  }
}

namespace {

using analysis::Json;

Json summary_json(const measure::SampleSummary& summary) {
  const bool known = summary.n > 0;
  return {{"median_seconds", known ? Json(summary.median.count()) : Json()},
          {"low_seconds", known ? Json(summary.interval.low.count()) : Json()},
          {"high_seconds", known ? Json(summary.interval.high.count()) : Json()},
          {"samples", summary.n}};
}

Json alternation_document(const analysis::AlternationReport& report) {
  Json shapes = Json::array();
  for (const analysis::AlternationReport::Shape& shape : report.shapes) {
    const std::optional<measure::MeasuredTime> change = shape.change();
    shapes.push_back(
        {{"shape", shape.shape},
         {"first_seconds", shape.first.count()},
         {"steady", summary_json(shape.steady)},
         {"changed", summary_json(shape.changed)},
         {"change_seconds", change ? Json(change->median.count()) : Json()},
         {"change_low_seconds", change ? Json(change->interval.low.count()) : Json()},
         {"change_high_seconds", change ? Json(change->interval.high.count()) : Json()}});
  }
  Json document = analysis::new_document();
  document.update(
      {{"model", report.model},
       {"dtype", report.dtype},
       {"mode", report.mode},
       {"stack", report.stack},
       {"order", to_text(report.order)},
       {"seed", report.seed},
       {"executions", report.executions},
       {"one_program", report.one_program},
       {"preparation_seconds", report.one_program ? Json(report.preparation.count()) : Json()},
       {"disturbed", report.disturbed},
       {"shapes", std::move(shapes)}});
  return document;
}

}  // namespace

void write_alternation(const analysis::AlternationReport& report,
                       OutputMode style,
                       std::ostream& out) {
  if (style == OutputMode::kJson) {
    out << analysis::document_text(alternation_document(report)) << '\n';
    return;
  }
  out << sanitize_utf8(fmt::format(
             "{}, {}, mode {}, on {}", report.model, report.dtype, report.mode, report.stack))
      << '\n'
      << fmt::format("  {} executions, shapes {}; {}\n{}\n",
                     report.executions,
                     report.order == analysis::AlternationReport::Order::kDrawn
                         ? fmt::format("drawn from seed {}", report.seed)
                         : std::string("in turn"),
                     report.one_program
                         ? fmt::format("one program for all shapes, prepared in {}",
                                       time_text(report.preparation))
                         : std::string("a program for each shape, made when it first comes"),
                     report.disturbed ? "  disturbed: run again when the host is quiet\n" : "");
  AlignedTable table({{"shape"},
                      {"first", true},
                      {"steady", true},
                      {"after another shape", true},
                      {"change", true},
                      {"95 %", true}});
  for (const analysis::AlternationReport::Shape& shape : report.shapes) {
    const std::optional<measure::MeasuredTime> change = shape.change();
    table.add({shape.shape,
               time_text(shape.first),
               with_interval(shape.steady),
               with_interval(shape.changed),
               change ? change_text(change->median) : "–",
               change ? fmt::format("{} … {}",
                                    change_text(change->interval.low),
                                    change_text(change->interval.high))
                      : "–"});
  }
  table.write(out);
}

}  // namespace plumb::reporting
