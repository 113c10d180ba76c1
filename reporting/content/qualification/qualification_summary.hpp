// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/qualify/qualification.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb qualify`: what it found, for a terminal, or all of it as JSON.
void write_qualification(const analysis::Qualification& qualification,
                         OutputMode style,
                         std::ostream& out);

}  // namespace plumb::reporting
