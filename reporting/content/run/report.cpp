// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/report.hpp"

#include <array>
#include <ostream>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/run/report_writers.hpp"

namespace plumb::reporting {
namespace {

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
    {".txt", "text", write_text_report},
}};

}  // namespace

std::span<const ReportFormat> report_formats() {
  return kFormats;
}

}  // namespace plumb::reporting
