// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/analysis/report/run_report.hpp"
#include "harness/cli/command.hpp"
#include "harness/results/execution_mode.hpp"
#include "harness/results/run.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::cli {

/// What the what-ifs of a run lack.
struct MissingEvidence {
  std::set<results::ExecutionMode> modes;  ///< of all what-ifs that apply, if one was not executed
  std::vector<int> threads;                ///< with which the layers have no times
  std::set<std::string> types;             ///< in which layers of f32 models have no rows
  std::set<model::LayerKey> padded;        ///< layers with channels in whole blocks

  [[nodiscard]] bool empty() const {
    return modes.empty() && threads.empty() && types.empty() && padded.empty();
  }
};

/// Lists what the what-ifs of a run lack. A mode that was tried and refused is not missing, and
/// neither is a type that was. Layers are wanted with 1, 2, 4 … threads below the run's own, in the
/// types of the what-ifs that apply, and with their channels padded.
[[nodiscard]] MissingEvidence find_missing(const analysis::RunReport& report);

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
