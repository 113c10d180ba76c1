// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/worker/execute_request.hpp"
#include "runners/engine/ready_model.hpp"

namespace plumb::onednn {

/// Is a model in ONNX's text syntax, with weights by name and shape.
struct Sample {
  std::string text;
  std::map<std::string, std::vector<std::int64_t>> weights = {};

  /// Asks for it in one mode.
  [[nodiscard]] ExecuteRequest request(const ModeRequest& mode = {}) const;
};

/// Executes a sample once on the CPU.
[[nodiscard]] ReadyModel executed(const Sample& sample, const ModeRequest& mode = {});

/// Executes a sample in a mode and compares all outputs with the float64 reference, layer by layer.
ReadyModel expect_right(const Sample& sample, const ModeRequest& mode);

/// The same for the modes plain and fusion; returns the number of reorders of plain.
std::size_t expect_right(const Sample& sample);

}  // namespace plumb::onednn
