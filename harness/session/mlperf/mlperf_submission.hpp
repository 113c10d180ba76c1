// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/model/graph/graph.hpp"
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

/// Submission to the open division of MLPerf Inference v6.1, as a folder.
struct MlperfSubmission {
  /// Benchmark of MLPerf Inference, as its submission checker knows it.
  struct Benchmark {
    std::string_view name;              ///< "resnet"
    std::uint64_t performance_samples;  ///< samples to draw from, at least
  };

  /// Number of samples in a load's data set, with how it came about.
  struct DataSetSize {
    std::uint64_t samples = 1;
    std::uint64_t wanted = 1;  ///< MLPerf's number for the benchmark, else 1,024
    std::string shortage;      ///< of samples below MLPerf's number, as a sentence; else empty
  };

  /// One load of a model, to be submitted.
  struct Load {
    const analysis::ModelInstance& instance;
    const model::Graph& graph;
    std::optional<std::filesystem::path> weights;  ///< the model's file; absent: from the zoo
    const results::ScenarioResult& load;
  };

  std::filesystem::path folder;  ///< open/SUBMITTER/ is below it
  std::string submitter;
  results::Environment environment;  ///< of the run, which describes the system
  std::string stack;                 ///< part of the system's name
};

/// Returns the benchmark whose task a model has, by its name or else by its shapes. A classifier of
/// images into 1,000 classes has resnet's. Absent: none is known.
[[nodiscard]] std::optional<MlperfSubmission::Benchmark> find_mlperf_benchmark(
    const std::string& model, const model::Graph& graph);

/// Returns the size of the data set of a model, `asked` if it is given. Otherwise it is as many
/// samples as MLPerf wants of the benchmark, and 1,024 of no benchmark. Their inputs may have
/// 1 GiB: of larger ones there are as many as fit.
[[nodiscard]] MlperfSubmission::DataSetSize data_set_size(const std::string& model,
                                                          const model::Graph& graph,
                                                          std::optional<std::uint64_t> asked);

/// Returns the folder of a scenario: results/SYSTEM/MODEL/SingleStream below open/SUBMITTER. The
/// mode is part of the system's name, unless it is "plain".
[[nodiscard]] std::filesystem::path submission_folder(const MlperfSubmission& submission,
                                                      const analysis::ModelInstance& instance,
                                                      const std::string& mode,
                                                      loadgen::ScenarioName scenario);

/// Writes the logs of a load that has a result, and the files that the submission checker wants
/// beside them: measurements.json, user.conf, README.md, accuracy.txt, the system's description,
/// model_mapping.json and src/README.md.
///
/// `accuracy_log` is the full accuracy log. It is shortened in the submission, beside its hash.
/// What somebody wrote into the system's description in place of "not recorded" is kept. Throws
/// Error{kEnvironment} if something cannot be written.
void write_mlperf_submission(const MlperfSubmission& submission,
                             const MlperfSubmission::Load& submitted,
                             const std::filesystem::path& accuracy_log);

/// Returns what the submission checker would refuse in a load, one sentence each.
[[nodiscard]] std::vector<std::string> submission_faults(const MlperfSubmission::Load& submitted);

}  // namespace plumb::session
