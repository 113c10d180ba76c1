// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace plumb::results {

/// Function of a user's Python file that builds a model and example inputs of it.
struct ModelCode {
  std::filesystem::path file;  ///< absolute
  std::string function;
  std::string sha256{};  ///< of the file when the model was exported

  bool operator==(const ModelCode&) const = default;
};

}  // namespace plumb::results
