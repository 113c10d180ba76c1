// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb::session {

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
