// SPDX-License-Identifier: Apache-2.0
// Private to reporting: a matrix for programs.
#pragma once

#include <iosfwd>

#include "harness/analysis/report/matrix_report.hpp"

namespace plumb::reporting {

/// Writes the document that `plumb matrix --json` prints.
void write_matrix_json(const analysis::MatrixReport& report, std::ostream& out);
/// Writes one line a cell, with the reason where it has no value.
void write_matrix_csv(const analysis::MatrixReport& report, std::ostream& out);

}  // namespace plumb::reporting
