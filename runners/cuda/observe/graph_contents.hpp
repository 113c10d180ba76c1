// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runners/cuda/driver/graph_abi.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {

/// Kernel launches that a captured graph would execute, and its nodes counted by type.
struct GraphContents {
  std::vector<KernelShape> kernels;          ///< in an order in which they can be executed
  std::map<std::string, std::size_t> nodes;  ///< by type: "kernel", "copy", "set"…
};

/// Reads the nodes of a captured graph and of the graphs within it. No profiler is needed, and
/// nothing is executed. Throws LibraryRefusal if the driver is too old or refuses, or for more than
/// kMaxNodes nodes.
[[nodiscard]] GraphContents read_contents(const abi::GraphCalls& calls, abi::Graph graph);

/// Returns the attributes of one execution: kernel_attributes(), and "graph_nodes" by type
/// ("kernel=3;set=1").
[[nodiscard]] results::Attributes graph_attributes(const GraphContents& contents);

/// Orders `count` nodes so that each follows the nodes from which an edge leads to it. Otherwise
/// they stand in the order in which they were made. Throws LibraryRefusal if an edge is of no such
/// node, or if edges form a cycle. Pure.
[[nodiscard]] std::vector<std::size_t> execution_order(
    std::size_t count, std::span<const std::pair<std::size_t, std::size_t>> edges);

/// Largest number of nodes that are read of a graph.
inline constexpr std::size_t kMaxNodes = 100'000;
inline constexpr int kDeepestGraph = 8;  ///< graphs within graphs

}  // namespace plumb::cuda
