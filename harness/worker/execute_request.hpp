// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "harness/measure/sampler.hpp"

namespace plumb {

/// Asks a worker to execute one whole model end to end.
struct ExecuteRequest {
  std::string name;   ///< for the log
  std::string model;  ///< a serialized ModelProto, weight-free: shapes fixed; empty: see `path`
  std::filesystem::path path;                ///< an ONNX file, absolute
  std::optional<std::int64_t> batch;         ///< of a file, as ReadOptions
  std::map<std::string, std::int64_t> dims;  ///< of a file, as ReadOptions
  std::string mode = "plain";                ///< each layer as the library does it by itself
  SamplingPlan sampling{.budget = Seconds(1.0)};
  std::uint64_t seed = 1;  ///< of the inputs, and of weights that the model does not hold
  std::int64_t disturbed_attempts = 2;
};

}  // namespace plumb
