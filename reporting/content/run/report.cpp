// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/report.hpp"

#include <fmt/format.h>

#include <array>
#include <ostream>

#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

void write_text(const analysis::RunReport& report, std::ostream& out) {
  write_bounds(report, OutputMode::kText, out, Detail::kAll);
  write_what_ifs(report, OutputMode::kText, out);
}

void write_json_report(const analysis::RunReport& report, std::ostream& out) {
  analysis::Json document = analysis::bounds_document(report);
  document["whatifs"] = analysis::what_ifs_document(report)["models"];
  document["header"] = analysis::run_json(report.run);
  write_json(document, out);
}

constexpr std::array<ReportFormat, 6> kFormats{{
    {".html", "one page that opens offline", write_html_report},
    {".md", "Markdown", write_markdown_report},
    {".json", "JSON document", write_json_report},
    {".xml", "JUnit", write_junit_report},
    {".csv", "CSV of the layers", write_csv_report},
    {".txt", "text", write_text},
}};

}  // namespace

std::string with_interval(Seconds time, const measure::Interval& interval) {
  if (time.count() <= 0) {
    return time_text(time);
  }
  const double half = (interval.high - interval.low).count() / 2.0 / time.count();
  return fmt::format("{} ± {:.1f} %", time_text(time), half * 100.0);
}

std::string prediction_error_text(const analysis::WhatIfResult& result) {
  if (!result.prediction_error) {
    return "–";
  }
  const analysis::PredictionError& error = *result.prediction_error;
  return fmt::format(
      "{:.1f} % ({:.1f} to {:.1f})", 100.0 * error.share, 100.0 * error.low, 100.0 * error.high);
}

std::span<const ReportFormat> report_formats() {
  return kFormats;
}

}  // namespace plumb::reporting
