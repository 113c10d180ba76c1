// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace onnx {
class GraphProto;
}

namespace plumb::model {

/// Role of a weight in the node that reads it, which decides how the weight is initialised.
struct WeightRole {
  enum class Kind { kMatrix, kScale, kVariance, kOffset, kEmbedding, kSlope };
  Kind kind = Kind::kOffset;
  std::int64_t fan_in = 1;   ///< of kMatrix: products summed into one output element
  bool ends_branch = false;  ///< of kMatrix: its result is added to another branch (a residual)
};

/// Finds the role of every initializer of a graph, by name. Looks through nodes that only rearrange
/// a weight (Reshape, Unsqueeze, Cast…). A weight that no known operator reads is an offset.
[[nodiscard]] std::map<std::string, WeightRole> weight_roles(const onnx::GraphProto& graph);

}  // namespace plumb::model
