// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the thirteen parts of a qualification report, in order, for any format.
#pragma once

#include <iosfwd>
#include <string>

#include "reporting/content/comparison/comparison_report.hpp"
#include "reporting/content/qualification/qualification_report.hpp"
#include "reporting/document/page.hpp"

namespace plumb {

/// Returns the question: "May onnx-3.2 take the place of onnx-3.1?".
[[nodiscard]] std::string question_of(const Qualification& qualification);

/// Adds parts 1 to 4: verdict, scope, criteria, summary.
void add_qualification_results(const QualificationReport& report, Page& page);
/// Adds parts 5 and 6: models, and layers that got worse.
void add_qualification_details(const QualificationReport& report, Page& page);
/// Adds parts 7 to 13: correctness, stability, compatibility, quality of the evidence, waivers,
/// history, data.
void add_qualification_evidence(const QualificationReport& report, Page& page);

/// Writes a CSV table with a row for each model in each mode, and each layer.
void write_qualification_csv(const QualificationReport& report, std::ostream& out);

/// Turns the metrics of a qualification into a comparison of runs, with the names that these use.
/// So both are drawn, tested and announced in one way.
[[nodiscard]] RunComparisonReport as_comparison(const Qualification& qualification);

}  // namespace plumb
