// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/graph_contents.hpp"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <iterator>
#include <queue>
#include <unordered_map>

#include "runners/cuda/driver/dynamic_library.hpp"

namespace plumb::cuda {
namespace {

void require(int status, const char* what) {
  if (status != abi::kDriverSuccess) {
    throw LibraryRefusal(fmt::format("{}: the driver's status is {}", what, status));
  }
}

/// Reader of one graph, and of those within it.
class Reader {
 public:
  explicit Reader(const abi::GraphCalls& calls) : calls_(calls) {}

  void read(abi::Graph graph, int depth) {
    const std::vector<abi::GraphNode> nodes = nodes_of(graph);
    for (const std::size_t index : execution_order(nodes.size(), edges_of(graph, nodes))) {
      read_node(nodes[index], depth);
    }
  }

  GraphContents contents;

 private:
  std::vector<abi::GraphNode> nodes_of(abi::Graph graph) {
    std::size_t count = 0;
    require(calls_.nodes(graph, nullptr, &count), "counting a graph's nodes");
    read_ += count;
    if (read_ > kMaxNodes) {
      throw LibraryRefusal(fmt::format("the graph has more than {} nodes", kMaxNodes));
    }
    std::vector<abi::GraphNode> nodes(count);
    if (count > 0) {
      require(calls_.nodes(graph, nodes.data(), &count), "reading a graph's nodes");
      nodes.resize(std::min(count, nodes.size()));
    }
    return nodes;
  }

  std::vector<std::pair<std::size_t, std::size_t>> edges_of(
      abi::Graph graph, const std::vector<abi::GraphNode>& nodes) {
    std::unordered_map<abi::GraphNode, std::size_t> places;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      places.emplace(nodes[i], i);
    }
    std::size_t count = 0;
    require(calls_.edges(graph, nullptr, nullptr, nullptr, &count), "counting a graph's edges");
    std::vector<abi::GraphNode> from(count);
    std::vector<abi::GraphNode> to(count);
    std::vector<abi::GraphEdge> data(count);
    if (count > 0) {
      require(calls_.edges(graph, from.data(), to.data(), data.data(), &count),
              "reading a graph's edges");
    }
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (std::size_t i = 0; i < std::min(count, from.size()); ++i) {
      const auto begin = places.find(from[i]);
      const auto end = places.find(to[i]);
      if (begin == places.end() || end == places.end()) {
        throw LibraryRefusal("an edge of the graph belongs to an unknown node");
      }
      edges.emplace_back(begin->second, end->second);
    }
    return edges;
  }

  void read_node(abi::GraphNode node, int depth) {
    abi::NodeType type{};
    require(calls_.node_type(node, &type), "a node's type");
    contents.nodes[name_of(type)] += 1;
    if (type == abi::NodeType::kKernel) {
      contents.kernels.push_back(kernel_of(node));
    } else if (type == abi::NodeType::kGraph && depth < kDeepestGraph) {
      abi::Graph child = nullptr;
      require(calls_.child_graph(node, &child), "a graph within the graph");
      read(child, depth + 1);
    }
  }

  KernelShape kernel_of(abi::GraphNode node) const {
    abi::KernelNode launch;
    require(calls_.kernel_node(node, &launch), "a kernel's launch");
    KernelShape shape;
    for (std::size_t axis = 0; axis < shape.grid.size(); ++axis) {
      shape.grid[axis] = static_cast<std::int32_t>(launch.grid[axis]);
      shape.block[axis] = static_cast<std::int32_t>(launch.block[axis]);
    }
    shape.dynamic_shared = launch.dynamic_shared;
    abi::Function function = launch.function;
    if (function == nullptr) {
      require(calls_.kernel_function(&function, launch.kernel), "a kernel's function");
    }
    const char* name = nullptr;
    require(calls_.function_name(&name, function), "a kernel's name");
    if (name != nullptr) {
      shape.name.assign(name, ::strnlen(name, kLongestKernelName));
    }
    int number = 0;
    require(calls_.function_attribute(&number, abi::kFunctionRegisters, function), "its registers");
    shape.registers = static_cast<std::uint32_t>(number);
    require(calls_.function_attribute(&number, abi::kFunctionStaticShared, function),
            "its shared memory");
    shape.static_shared = number;
    return shape;
  }

  static std::string name_of(abi::NodeType type) {
    switch (type) {
      case abi::NodeType::kKernel:
        return "kernel";
      case abi::NodeType::kCopy:
        return "copy";
      case abi::NodeType::kSet:
        return "set";
      case abi::NodeType::kHost:
        return "host";
      case abi::NodeType::kGraph:
        return "graph";
      case abi::NodeType::kEmpty:
        return "empty";
    }
    return fmt::format("type{}", static_cast<int>(type));
  }

  const abi::GraphCalls& calls_;
  std::size_t read_ = 0;
};

}  // namespace

GraphContents read_contents(const abi::GraphCalls& calls, abi::Graph graph) {
  abi::for_each_graph_call(calls, [&](const auto& call, const char* name) {
    if (call == nullptr) {
      throw LibraryRefusal(
          fmt::format("the driver is too old to read a graph: it has no {}", name));
    }
  });
  Reader reader(calls);
  reader.read(graph, 0);
  return std::move(reader.contents);
}

results::Attributes graph_attributes(const GraphContents& contents) {
  results::Attributes result = kernel_attributes(contents.kernels);
  std::string nodes;
  for (const auto& [type, count] : contents.nodes) {
    nodes += fmt::format("{}{}={}", nodes.empty() ? "" : ";", type, count);
  }
  result["graph_nodes"] = nodes;
  return result;
}

std::vector<std::size_t> execution_order(
    std::size_t count, std::span<const std::pair<std::size_t, std::size_t>> edges) {
  std::vector<std::vector<std::size_t>> behind(count);
  std::vector<std::size_t> before(count, 0);
  for (const auto& [from, to] : edges) {
    if (from >= count || to >= count) {
      throw LibraryRefusal("an edge of the graph belongs to an unknown node");
    }
    behind[from].push_back(to);
    before[to] += 1;
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (before[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t later : behind[next]) {
      if (--before[later] == 0) {
        ready.push(later);
      }
    }
  }
  if (order.size() != count) {
    throw LibraryRefusal("the graph's edges form a cycle");
  }
  return order;
}

}  // namespace plumb::cuda
