// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the fourteen parts of a qualification report, in order, for any format. A
// terminal has the answer, the criteria, what changed, and the quality of the evidence.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/reports.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Returns the library of a stack with its version, and the stack's name: "oneDNN 3.2.0 (default)".
/// The name alone where the library is not known.
[[nodiscard]] std::string stack_label(const analysis::Qualification::Stack& stack);

/// Returns a verdict in words: "not enough evidence".
[[nodiscard]] std::string verdict_words(analysis::QualificationVerdict verdict);

/// Returns the question: "May oneDNN 3.2.0 (new) replace oneDNN 3.1.0 (old)?".
[[nodiscard]] std::string question_of(const analysis::Qualification& qualification);

/// Begins a part: "4. Summary". On a terminal parts have no numbers, since some are left out.
void begin_part(int number, const std::string& title, Page& page);

/// Adds parts 1 to 4: verdict, scope, criteria, summary.
void add_qualification_results(const analysis::QualificationReport& report, Page& page);
/// Adds parts 5 and 6: models, and layers that got worse.
void add_qualification_details(const analysis::QualificationReport& report, Page& page);
/// Adds parts 7 to 14: correctness, stability, compatibility, quality of the evidence, waivers,
/// history, data, sign-off.
void add_qualification_evidence(const analysis::QualificationReport& report, Page& page);

/// Writes a CSV table with a row for each model in each mode, and each layer.
void write_qualification_csv(const analysis::QualificationReport& report, std::ostream& out);

/// Turns the metrics of a qualification into a comparison of runs, with the names that these use.
/// So both are drawn, tested and announced in one way.
[[nodiscard]] analysis::ComparisonReport as_comparison(
    const analysis::Qualification& qualification);

/// Lists the formats of a qualification: a page to sign, Markdown, text, JSON, JUnit and workflow
/// commands of GitHub Actions.
[[nodiscard]] std::span<const OutputFormat<analysis::QualificationReport>> qualification_formats();

/// Writes the output of `plumb qualify`: what it found, for a terminal, or all of it as JSON.
void write_qualification(const analysis::QualificationReport& report,
                         OutputMode style,
                         std::ostream& out);

}  // namespace plumb::reporting
