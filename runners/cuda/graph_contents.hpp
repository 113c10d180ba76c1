// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runners/cuda/graph_abi.hpp"
#include "runners/cuda/kernel_shape.hpp"

namespace plumb::cuda {

/// Kernel launches that a captured graph would execute, and its nodes counted by type.
struct GraphContents {
  std::vector<KernelShape> kernels;          ///< in an order in which they can be executed
  std::map<std::string, std::size_t> nodes;  ///< by type: "kernel", "copy", "set"…
};

/// Reads a captured graph's nodes, those of graphs within it too: no profiler is needed, and
/// nothing is executed. Throws LibraryRefusal: the driver is too old, or refuses.
[[nodiscard]] GraphContents contents_of(const abi::GraphCalls& calls, abi::Graph graph);

/// Returns the attributes of one execution: kernel_attributes(), and "graph_nodes" by type
/// ("kernel=3;set=1").
[[nodiscard]] Attributes graph_attributes(const GraphContents& contents);

/// Orders `count` nodes so that each stands behind those that an edge leads from; otherwise as they
/// were made. Pure. Throws LibraryRefusal if an edge is of no such node, or they go round.
[[nodiscard]] std::vector<std::size_t> execution_order(
    std::size_t count, std::span<const std::pair<std::size_t, std::size_t>> edges);

/// Bounds what is read of a graph.
inline constexpr std::size_t kMostNodes = 100'000;
inline constexpr int kDeepestGraph = 8;  ///< graphs within graphs

}  // namespace plumb::cuda
