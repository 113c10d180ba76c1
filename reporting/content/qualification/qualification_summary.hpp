// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/qualify/qualification.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {

/// Writes the output of `plumb qualify`: what it found, for a terminal, or all of it as JSON.
void write_qualification(const Qualification& qualification, OutputMode style, std::ostream& out);

}  // namespace plumb
