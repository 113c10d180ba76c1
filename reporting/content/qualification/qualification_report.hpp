// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/qualification_report.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Lists the formats of a qualification: a page to sign, Markdown, text, JSON, JUnit and workflow
/// commands of GitHub Actions.
[[nodiscard]] std::span<const OutputFormat<analysis::QualificationReport>> qualification_formats();

/// Writes the output of `plumb qualify`: what it found, for a terminal, or all of it as JSON.
void write_qualification(const analysis::QualificationReport& report,
                         OutputMode style,
                         std::ostream& out);

}  // namespace plumb::reporting
