// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/report/run_report.hpp"
#include "harness/cli/command.hpp"
#include "harness/results/run.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::cli {

/// Measures what a run's what-ifs lack, as their commands say: the layers with fewer threads and in
/// other types in runs of their own, then the models in all modes in one more run, which reuses the
/// layers' rows. Returns the run to look at, which is the given one if nothing is missing. `models`
/// names the models that are wanted; none: all. Throws Error{kUser} for a run that `plumb run` did
/// not make.
[[nodiscard]] results::RunId measure_missing(CommandContext& context,
                                             store::Store& store,
                                             const analysis::RunReport& report,
                                             const std::vector<std::string>& models);

}  // namespace plumb::cli
