// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/run.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Returns the name by which MLPerf Training (4.0, the last one with ResNet-50) knows a model. For
/// any other model it is the model's own name, which its compliance checker refuses.
[[nodiscard]] std::string mlperf_training_benchmark(const std::string& model);

/// Returns the lines ":::MLLOG {JSON}" of timed steps of training, in the forms of MLPerf Training.
///
/// The timed steps of one process stand one after the other, as one block of as many samples. There
/// is no data set, so nothing is evaluated and no target is reached: there is no `eval_accuracy`,
/// and the status of `run_stop` is "aborted". Of what the compliance checker wants, that one key is
/// missing.
[[nodiscard]] std::string mlperf_training_log(const analysis::ModelInstance& instance,
                                              const results::Execution& execution,
                                              const results::Environment& environment);

/// Returns the file of a log: FOLDER/MODEL/training/result_0.txt. Between model and training stands
/// the mode, unless it is "plain".
[[nodiscard]] std::filesystem::path mlperf_training_file(const std::filesystem::path& folder,
                                                         const analysis::ModelInstance& instance,
                                                         const std::string& mode);

/// Writes MLPerf Training's logs of a run's steps below a folder, those of the first process that
/// timed each mode. Earlier logs there are replaced. Throws Error{kEnvironment} if they cannot be
/// written.
void write_training_logs(const store::Store& store,
                         const results::RunHeader& run,
                         std::span<const PlannedModel> models,
                         const std::filesystem::path& folder);

}  // namespace plumb::session
