// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/results/run.hpp"

namespace plumb::session {

/// Returns the identifier of the GPU that a run measured, for `--device`. Empty: it was the first,
/// or no GPU.
[[nodiscard]] std::string device_of(const results::RunHeader& run);

/// Returns the command that executes a model of a run in a mode, with the run's suite, stack,
/// threads and GPU. Branches side by side get two threads at least. Files that were named by an
/// absolute path are named without their folder: the command is for that folder.
[[nodiscard]] std::string enabling_command(const results::RunHeader& run,
                                           const analysis::ModelInstance& instance,
                                           std::string_view mode);

/// Returns the command that measures a series of a run once more: a layer by its key, or a model.
/// Empty: the series is of neither.
[[nodiscard]] std::string repeating_command(const results::RunHeader& run,
                                            const std::string& series);

/// Returns the command that profiles what two runs measured, which differ in what `varied` names:
/// both stacks in turns, or the candidate once more where the stacks have one name. Empty: the
/// candidate is no run of `plumb run`.
[[nodiscard]] std::string profiling_command(const results::RunHeader& baseline,
                                            const results::RunHeader& candidate,
                                            std::span<const std::string> varied);

}  // namespace plumb::session
