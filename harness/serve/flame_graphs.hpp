// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/report/run_report.hpp"
#include "harness/session/stored/archive.hpp"

namespace plumb::serve {

/// Draws the newest profile that the run of a report keeps of each model, as a flame graph.
void add_flame_graphs(const session::Archive& archive, analysis::RunReport& report);

}  // namespace plumb::serve
