// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/worker/protocol/requests.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb {

/// Model in ONNX's text syntax, with weights by name and shape.
struct Sample {
  std::string text;
  std::map<std::string, std::vector<std::int64_t>> weights = {};

  /// Returns it as ONNX has it; the weights have no elements.
  [[nodiscard]] onnx::ModelProto model() const;
  /// Asks for it in one mode.
  [[nodiscard]] worker::ExecuteRequest request(const worker::ModeRequest& mode = {}) const;
};

/// Returns two branches of fused convolutions, joined and pooled in 8 bits, a residual sum and a
/// product.
[[nodiscard]] Sample mixed_sample();

}  // namespace plumb
