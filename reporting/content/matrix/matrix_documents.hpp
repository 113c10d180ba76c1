// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/matrix_report.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb matrix`.
void write_matrix(const analysis::MatrixReport& report, OutputMode style, std::ostream& out);

/// Lists the formats of a matrix: HTML, Markdown, JSON, CSV with one line a cell, text.
[[nodiscard]] std::span<const OutputFormat<analysis::MatrixReport>> matrix_formats();

/// Writes the output of `plumb matrix --list-views`.
void write_views(std::span<const analysis::MatrixView> views, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
