// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace onnx {
class GraphProto;
}

namespace plumb::model {

/// Returns the order in which each node follows the nodes that it reads from. Otherwise it is the
/// order of the file. Throws Error{kUser}, naming a node, if they form a cycle or two of them write
/// the same value.
[[nodiscard]] std::vector<int> order_nodes(const onnx::GraphProto& graph);

}  // namespace plumb::model
