// SPDX-License-Identifier: Apache-2.0
// Private to reporting: a matrix as a page, and as text.
#pragma once

#include <iosfwd>

#include "harness/analysis/report/matrix_report.hpp"

namespace plumb::reporting {

void write_matrix_html(const analysis::MatrixReport& report, std::ostream& out);
void write_matrix_markdown(const analysis::MatrixReport& report, std::ostream& out);
/// Writes a matrix for a terminal.
void write_matrix_text(const analysis::MatrixReport& report, std::ostream& out);

}  // namespace plumb::reporting
