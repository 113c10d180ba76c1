// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the contents of a matrix, in order, for any format.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>

#include "harness/analysis/matrix/matrix.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/formats/output_format.hpp"

namespace plumb::reporting {

/// Returns what a matrix shows, on one line.
[[nodiscard]] std::string matrix_title(const analysis::MatrixReport& report);

/// Adds the matrix with what all results share, its fronts, and the commands for what is missing.
/// All but a terminal also list the runs.
void add_matrix(const analysis::MatrixReport& report, Page& page);

/// Adds the cells and means, and the notes that cells refer to. A page has a legend of the shades.
void add_cells(const analysis::Matrix& matrix, Page& page);

/// Returns whether values are ratios, and no times or rates.
[[nodiscard]] bool is_ratio(const analysis::Matrix& matrix);
/// Returns a value with half the width of its interval: "12.82 ms ± 1.6 %".
[[nodiscard]] std::string estimate_text(const analysis::Matrix& matrix,
                                        const analysis::Estimate& value);
[[nodiscard]] std::string rate_text(double per_second);  ///< "312.0/s"

/// Draws throughput over latency, both logarithmic. Batches on the front are filled and joined by
/// steps. A dashed line is the limit. Empty: there are fewer than two points.
[[nodiscard]] std::string pareto_plot(const analysis::MatrixReport::Front& front,
                                      const std::optional<Seconds>& limit);

/// Writes the output of `plumb matrix`.
void write_matrix(const analysis::MatrixReport& report, OutputMode style, std::ostream& out);

/// Lists the formats of a matrix: HTML, Markdown, JSON, CSV with one line a cell, text.
[[nodiscard]] std::span<const OutputFormat<analysis::MatrixReport>> matrix_formats();

/// Writes the output of `plumb matrix --list-views`.
void write_views(std::span<const analysis::MatrixReport::View> views,
                 OutputMode style,
                 std::ostream& out);

}  // namespace plumb::reporting
