// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "harness/analysis/alternation/shape_latencies.hpp"
#include "harness/analysis/trace/trace_report.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb::reporting {

/// Writes the output of `plumb trace`. In short, the largest findings that lose time; in full, all
/// findings and every call beside its layers. The JSON has everything.
void write_trace(const analysis::TraceReport& report,
                 OutputMode style,
                 std::ostream& out,
                 Detail detail);

/// Writes the output of `plumb trace --against`. In short, the layers that differ most; in full and
/// in JSON all of them.
void write_trace_difference(const analysis::TraceReport& before,
                            const analysis::TraceReport& after,
                            const analysis::TraceReport::Difference& difference,
                            OutputMode style,
                            std::ostream& out,
                            Detail detail);

/// Writes the output of `plumb alternate`.
void write_alternation(const analysis::AlternationReport& report,
                       OutputMode style,
                       std::ostream& out);

}  // namespace plumb::reporting
