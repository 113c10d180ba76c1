// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb {

/// Writes the logs of a load that has a result, where MLPerf's tools look for them. They are
/// FOLDER/MODEL/SCENARIO/performance/run_1/mlperf_log_{summary.txt,detail.txt,accuracy.json}. An
/// accuracy run adds FOLDER/MODEL/SCENARIO/accuracy/mlperf_log_{summary.txt,detail.txt}. Earlier
/// logs there are replaced. Throws Error{kEnvironment} if they cannot be written.
void write_mlperf_logs(const std::filesystem::path& folder,
                       const ModelInstance& instance,
                       const ScenarioResult& load);

/// Makes the folder for the accuracy log of a scenario, and returns the absolute path of the log.
/// Throws Error{kEnvironment} if it cannot be made.
[[nodiscard]] std::filesystem::path mlperf_accuracy_file(const std::filesystem::path& folder,
                                                         const ModelInstance& instance,
                                                         const std::string& scenario);

}  // namespace plumb
