// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/model_limits.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "harness/base/error.hpp"

namespace plumb::model {

void check_size(const onnx::GraphProto& graph) {
  if (graph.node_size() > kMaxNodes) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model has {} nodes, and at most {} are read: export it with its "
                            "constants folded, or in parts",
                            graph.node_size(),
                            kMaxNodes));
  }
  std::int64_t names = std::int64_t{graph.initializer_size()} + graph.sparse_initializer_size() +
                       graph.input_size() + graph.output_size() + graph.value_info_size();
  for (const onnx::NodeProto& node : graph.node()) {
    names += std::int64_t{node.input_size()} + node.output_size();
  }
  if (names > kMaxNames) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model names {} operands, results and weights, and at most {} are "
                            "read: export it in parts",
                            names,
                            kMaxNames));
  }
}

std::size_t text_nesting(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          i += text[i] == '\\' ? 1U : 0U;
        }
        break;
      case '#':
        while (i + 1 < text.size() && text[i + 1] != '\n') {
          ++i;
        }
        break;
      case '{':
      case '(':
      case '[':
        deepest = std::max(deepest, ++depth);
        break;
      case '}':
      case ')':
      case ']':
        depth -= depth > 0 ? 1U : 0U;
        break;
      default:
        break;
    }
  }
  return deepest;
}

}  // namespace plumb::model
