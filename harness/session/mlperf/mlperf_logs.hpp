// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/run.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Returns a folder's name for any text. Other characters than letters, digits, '-' and '.' become
/// '_', and a name does not begin with '.'.
[[nodiscard]] std::string folder_name(const std::string& text);

/// Writes a file. Throws Error{kEnvironment} if that fails.
void write_text_file(const std::filesystem::path& file, const std::string& content);

/// Returns the folder of the logs of a scenario, or of "training": FOLDER/MODEL/NAME. Between them
/// stands the mode, unless it is "plain".
[[nodiscard]] std::filesystem::path mlperf_log_folder(const std::filesystem::path& folder,
                                                      const analysis::ModelInstance& instance,
                                                      const std::string& mode,
                                                      std::string_view name);

/// Writes the logs of a load that has a result, where MLPerf's tools look for them. They are
/// SCENARIO/performance/run_1/mlperf_log_{summary.txt,detail.txt,accuracy.json}. An accuracy run
/// adds SCENARIO/accuracy/mlperf_log_{summary.txt,detail.txt}. Earlier logs there are replaced.
/// Throws Error{kEnvironment} if they cannot be written.
void write_mlperf_logs(const std::filesystem::path& scenario, const results::ScenarioResult& load);

/// Makes the folder for the accuracy log of a scenario, and returns the absolute path of the log.
/// Throws Error{kEnvironment} if it cannot be made.
[[nodiscard]] std::filesystem::path mlperf_accuracy_file(const std::filesystem::path& scenario);

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
