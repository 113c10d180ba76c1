// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/analyze/model_instance.hpp"
#include "harness/results/load_execution.hpp"

namespace plumb {

/// Writes the logs of a load that has a result, as MLPerf's tools find them:
/// FOLDER/MODEL/SCENARIO/performance/run_1/mlperf_log_{summary.txt,detail.txt,accuracy.json}, and
/// of a run for accuracy FOLDER/MODEL/SCENARIO/accuracy/mlperf_log_{summary.txt,detail.txt}.
/// Earlier logs there are replaced. Throws Error{kEnvironment} if they cannot be written.
void write_mlperf_logs(const std::filesystem::path& folder,
                       const ModelInstance& instance,
                       const LoadExecution& load);

/// Makes the folder for the accuracy log of a scenario, and names the file in it, absolute. Throws
/// Error{kEnvironment}.
[[nodiscard]] std::filesystem::path mlperf_accuracy_file(const std::filesystem::path& folder,
                                                         const ModelInstance& instance,
                                                         const std::string& scenario);

}  // namespace plumb
