// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/report/bisection.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb bisect`.
void write_bisection(const analysis::Bisection& bisection, OutputMode style, std::ostream& out);

}  // namespace plumb::reporting
