// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/node_order.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "harness/base/error.hpp"

namespace plumb::model {

std::vector<int> order_nodes(const onnx::GraphProto& graph) {
  std::unordered_map<std::string_view, int> writers;
  writers.reserve(static_cast<std::size_t>(graph.node_size()) * 2);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (!output.empty() && !writers.emplace(output, i).second) {
        throw Error(Error::Kind::kUser,
                    fmt::format("value '{}' is written twice, the second time by node '{}' ({})",
                                output.substr(0, 200),
                                graph.node(i).name().substr(0, 200),
                                graph.node(i).op_type().substr(0, 200)));
      }
    }
  }
  const auto size = static_cast<std::size_t>(graph.node_size());
  std::vector<std::vector<int>> readers(size);
  std::vector<int> waiting(size, 0);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      const auto writer = writers.find(input);
      if (writer != writers.end()) {
        readers[static_cast<std::size_t>(writer->second)].push_back(i);
        ++waiting[static_cast<std::size_t>(i)];
      }
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (waiting[static_cast<std::size_t>(i)] == 0) {
      ready.push(i);
    }
  }
  std::vector<int> order;
  order.reserve(size);
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : readers[static_cast<std::size_t>(node)]) {
      if (--waiting[static_cast<std::size_t>(reader)] == 0) {
        ready.push(reader);
      }
    }
  }
  for (std::size_t i = 0; order.size() < size && i < size; ++i) {
    if (waiting[i] > 0) {
      const onnx::NodeProto& node = graph.node(static_cast<int>(i));
      throw Error(Error::Kind::kUser,
                  fmt::format("the nodes form a cycle through node '{}' ({})",
                              node.name().substr(0, 200),
                              node.op_type().substr(0, 200)));
    }
  }
  return order;
}

}  // namespace plumb::model
