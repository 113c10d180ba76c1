// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analyze/qualification.hpp"
#include "reporting/documents.hpp"

namespace plumb {

/// `plumb qualify`: what it found, for a terminal, or all of it as JSON.
void write_qualification(const Qualification& qualification, Style style, std::ostream& out);

}  // namespace plumb
