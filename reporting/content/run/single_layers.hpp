// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the layers that a suite lists by themselves, in the forms that formats
// share.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/analysis/report/run_report.hpp"

namespace plumb::reporting {

/// Writes a table for a terminal. Without such layers it writes nothing.
void write_single_layers(const analysis::RunReport& report, std::ostream& out);

/// Returns multiply-accumulates per second ("12.34 G"), or a dash.
[[nodiscard]] std::string rate_text(const analysis::SingleLayerResult& layer);

/// Returns a layer's time as a multiple of its hardware bound, or a dash.
[[nodiscard]] std::string ratio_to_hardware(const analysis::SingleLayerResult& layer);

}  // namespace plumb::reporting
