// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/report/qualification_report.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Lists the formats of a qualification: a page to sign, Markdown, JSON, JUnit and workflow
/// commands of GitHub Actions.
[[nodiscard]] std::span<const OutputFormat<analysis::QualificationReport>> qualification_formats();

}  // namespace plumb::reporting
