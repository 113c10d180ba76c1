// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/results/scenario_result.hpp"

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

}  // namespace plumb::session
