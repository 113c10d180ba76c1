// SPDX-License-Identifier: Apache-2.0
// Private to reporting: one function a format of a comparison, gathered by the table in
// comparison_report.cpp, and the sentences they share.
#pragma once

#include <iosfwd>
#include <string>

#include "reporting/comparison_report.hpp"
#include "reporting/json_documents.hpp"

namespace plumb {

/// Writes Markdown for a pull request below kMarkdownLimit: what changed, cut with "and 37 more".
void write_comparison_markdown(const RunComparisonReport& report, std::ostream& out);

/// Writes JUnit XML: a test suite per model and one for layers; broken and regressed is `failure`,
/// inconclusive `skipped`; the numbers are properties.
void write_comparison_junit(const RunComparisonReport& report, std::ostream& out);

/// Writes workflow commands of GitHub Actions, at most ten of a kind (more are dropped there): an
/// error for what got worse, a notice for what got better, a warning that evidence lacks.
void write_comparison_annotations(const RunComparisonReport& report, std::ostream& out);

/// Writes the document of `plumb compare --json` on one line: what the store keeps.
[[nodiscard]] Json comparison_document(const RunComparisonReport& report);

/// Names both sides: "CAND against BASE".
[[nodiscard]] std::string title_text(const RunComparisonReport& report);
/// Returns the text of where the deviation between processes comes from.
[[nodiscard]] std::string deviation_source(const ProcessDeviation& deviation);
/// Returns the text of how the comparison was judged, and by which limits.
[[nodiscard]] std::string method_text(const RunComparisonReport& report);
/// Returns the command that makes the same comparison again.
[[nodiscard]] std::string command_text(const RunComparisonReport& report);

}  // namespace plumb
