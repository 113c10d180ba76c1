// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/results/model_code.hpp"

namespace plumb::worker {

/// Request to run code of the user that builds a model, and to write the model as ONNX.
struct ExportRequest {
  results::ModelCode code;
  std::filesystem::path path;  ///< of the ONNX file, absolute; its folder exists
  std::uint64_t seed = 1;      ///< of the framework's random numbers, as in ExecuteRequest
};

}  // namespace plumb::worker
