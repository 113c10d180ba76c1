// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/alternation/shape_latencies.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb alternate`.
void write_alternation(const analysis::AlternationReport& report,
                       OutputMode style,
                       std::ostream& out);

}  // namespace plumb::reporting
