// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/run.hpp"

namespace plumb::session {

/// ONNX file that a worker wrote of a model which the user's code builds.
struct ExportedModel {
  std::string name;  ///< "mine.py:build"
  results::ModelCode code;
  std::filesystem::path path;
};

/// Parses FILE.py:FUNCTION. Empty: the text has another form.
[[nodiscard]] std::optional<results::ModelCode> parse_model_code(std::string_view text);

/// Returns the name of a model that code builds: "mine.py:build", without the file's folder.
[[nodiscard]] std::string name_of(const results::ModelCode& code);

/// Exports the model of a user's code through a worker of the first stack that can run it. The file
/// is kept below the user's data folder. Equal files are kept once. The code runs in the worker
/// only. Throws Error{kUser} if the file is not there, no stack runs code, or the code fails;
/// Error{kTryAgain} if `stop` is set.
[[nodiscard]] ExportedModel export_model(const results::ModelCode& code,
                                         const std::vector<std::string>& stacks,
                                         const std::atomic<bool>& stop);

}  // namespace plumb::session
