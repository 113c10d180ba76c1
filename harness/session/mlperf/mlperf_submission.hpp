// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/run.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb::session {

/// Benchmark of MLPerf Inference, as its submission checker knows it.
struct MlperfBenchmark {
  std::string_view name;              ///< "resnet"
  std::uint64_t performance_samples;  ///< samples to draw from, at least
};

/// Returns the benchmark whose task a model has, by its name or else by its shapes. A classifier of
/// images into 1,000 classes has resnet's. Absent: none is known.
[[nodiscard]] std::optional<MlperfBenchmark> find_mlperf_benchmark(const std::string& model,
                                                                   const model::Graph& graph);

/// Number of samples in a load's data set, with how it came about.
struct DataSetSize {
  std::uint64_t samples = 1;
  std::uint64_t wanted = 1;  ///< MLPerf's number for the benchmark, else 1,024
  std::string shortage;      ///< of samples below MLPerf's number, as a sentence; else empty
};

/// Returns the size of the data set of a model, `asked` if it is given. Otherwise it is as many
/// samples as MLPerf wants of the benchmark, and 1,024 of no benchmark. Their inputs may have
/// 1 GiB: of larger ones there are as many as fit.
[[nodiscard]] DataSetSize data_set_size(const std::string& model,
                                        const model::Graph& graph,
                                        std::optional<std::uint64_t> asked);

/// Submission to the open division of MLPerf Inference v6.1, as a folder.
struct MlperfSubmission {
  std::filesystem::path folder;  ///< open/SUBMITTER/ is below it
  std::string submitter;
  results::Environment environment;  ///< of the run, which describes the system
  std::string stack;                 ///< part of the system's name
};

/// One load of a model, to be submitted.
struct SubmittedLoad {
  const analysis::ModelInstance& instance;
  const model::Graph& graph;
  std::optional<std::filesystem::path> weights;  ///< the model's file; absent: from the zoo
  const results::ScenarioResult& load;
};

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
                             const SubmittedLoad& submitted,
                             const std::filesystem::path& accuracy_log);

/// Returns what the submission checker would refuse in a load, one sentence each.
[[nodiscard]] std::vector<std::string> submission_faults(const SubmittedLoad& submitted);

}  // namespace plumb::session
