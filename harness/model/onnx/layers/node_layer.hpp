// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Layer whose values are not numbered yet.
struct NodeLayer {
  Layer layer;  ///< without inputs and outputs
  std::vector<std::size_t>
      inputs;  ///< the node's inputs in the layer's order: operands first, then the others
};

/// Describes a node that depends on the model's inputs: its key and cost, or why it has none.
/// `problem` is what shape inference found wrong with it. Empty if nothing.
[[nodiscard]] NodeLayer describe_node(const NodeView& node, const std::string& problem);

/// Describes a node that acts on weights only: how to compute it, if there is such a layer.
[[nodiscard]] NodeLayer describe_folded_node(const NodeView& node, const std::string& problem);

}  // namespace plumb::model
