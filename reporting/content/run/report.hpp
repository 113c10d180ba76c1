// SPDX-License-Identifier: Apache-2.0
// Private to reporting: one function for each format, gathered by the table in report.cpp.
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/reports.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Writes one page that opens offline. It refers to nothing outside the file, and a content
/// security policy forbids that. The page draws itself from a JSON document. Nothing from outside
/// is ever parsed as markup.
void write_html_report(const analysis::RunReport& report, std::ostream& out);

/// Writes GitHub-flavoured Markdown below kMarkdownLimit, so that it fits a comment. Tables are cut
/// with "and 37 more".
void write_markdown_report(const analysis::RunReport& report, std::ostream& out);

/// Writes what `plumb bound` and `plumb whatif` print of everything.
void write_text_report(const analysis::RunReport& report, std::ostream& out);

/// Writes JUnit XML with a test suite for each model and a test case for each step. A wrong result,
/// a crash or a time-out is `error`, any other step without a time `skipped`. Scenarios are test
/// cases, too.
void write_junit_report(const analysis::RunReport& report, std::ostream& out);

/// Writes a CSV table with a row for each layer of each model, then the single layers.
void write_csv_report(const analysis::RunReport& report, std::ostream& out);

using ReportFormat = OutputFormat<analysis::RunReport>;
[[nodiscard]] std::span<const ReportFormat> report_formats();

}  // namespace plumb::reporting
