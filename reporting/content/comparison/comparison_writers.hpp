// SPDX-License-Identifier: Apache-2.0
// Private to reporting: one function for each format of a comparison, gathered by the table in
// comparison_report.cpp, and the sentences that they share.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/analysis/report/reports.hpp"
#include "reporting/content/run/json_documents.hpp"

namespace plumb::reporting {

/// Writes text for a terminal: the verdict, the metrics, and the reasons of changes.
void write_comparison_text(const analysis::ComparisonReport& report, std::ostream& out);

/// Writes Markdown for a pull request below kMarkdownLimit: what changed, cut with "and 37 more".
void write_comparison_markdown(const analysis::ComparisonReport& report, std::ostream& out);

/// Writes JUnit XML with a test suite for each model and one for layers. Broken and regressed is
/// `failure`, inconclusive is `skipped`. The numbers are properties.
void write_comparison_junit(const analysis::ComparisonReport& report, std::ostream& out);

/// Writes a CSV table with a row for each metric, the excluded ones last.
void write_comparison_csv(const analysis::ComparisonReport& report, std::ostream& out);

/// Writes workflow commands of GitHub Actions, at most ten of a kind, since more are dropped there.
/// What got worse is an error, and what got better a notice. A warning says that evidence is
/// missing.
void write_comparison_annotations(const analysis::ComparisonReport& report, std::ostream& out);

/// Returns a title with both sides: "CAND against BASE".
[[nodiscard]] std::string title_text(const analysis::ComparisonReport& report);
/// Returns, as text, where the deviation between processes comes from.
[[nodiscard]] std::string deviation_source(const analysis::ProcessDeviation& deviation);
/// Returns, as text, how the comparison was judged, and by which limits.
[[nodiscard]] std::string method_text(const analysis::ComparisonReport& report);
/// Returns the command that makes the same comparison again.
[[nodiscard]] std::string command_text(const analysis::ComparisonReport& report);

}  // namespace plumb::reporting
