// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/alternation_documents.hpp"

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "harness/analysis/report/json_document.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
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
  for (const analysis::ShapeLatencies& shape : report.shapes) {
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
                     report.order == analysis::AlternationOrder::kDrawn
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
  for (const analysis::ShapeLatencies& shape : report.shapes) {
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
