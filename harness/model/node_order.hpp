// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace onnx {
class GraphProto;
}

namespace plumb {

/// Orders a graph's nodes so that each stands behind those it reads from, otherwise as in the file.
/// Throws Error{kUser}, naming a node, if they form a cycle or two of them write the same value.
[[nodiscard]] std::vector<int> order_nodes(const onnx::GraphProto& graph);

}  // namespace plumb
