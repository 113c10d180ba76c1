// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "runners/cuda/driver/driver_abi.hpp"

/// Part of the driver's binary interface that reads and updates captured graphs, as the CUDA Driver
/// API documents it. It is newer than the rest (CUDA 12.3), so a driver may lack it.
namespace plumb::cuda::abi {

using GraphNode = void*;
using Kernel = void*;
using GraphEdge = std::array<unsigned char, 8>;  ///< CUgraphEdgeData

/// Values of CUgraphNodeType that the worker distinguishes.
enum class NodeType : int { kKernel = 0, kCopy = 1, kSet = 2, kHost = 3, kGraph = 4, kEmpty = 5 };

/// Binary layout of CUDA_KERNEL_NODE_PARAMS (v2).
struct KernelNode {
  Function function = nullptr;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned dynamic_shared = 0;  // bytes a block
  void** parameters = nullptr;
  void** extra = nullptr;
  Kernel kernel = nullptr;  // where `function` is null
  Context context = nullptr;
};

/// Binary layout of CUgraphExecUpdateResultInfo.
struct GraphUpdate {
  int result = 0;
  GraphNode node = nullptr;
  GraphNode from = nullptr;
};

/// Values of CUgraphExecUpdateResult.
enum class GraphUpdateResult : int {
  kUpdated = 0,
  kError = 1,
  kTopologyChanged = 2,
  kNodeTypeChanged = 3,
  kFunctionChanged = 4,
  kParametersChanged = 5,
  kNotSupported = 6,
  kUnsupportedFunctionChange = 7,
  kAttributesChanged = 8,
};

inline constexpr int kFunctionStaticShared = 1;  // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
inline constexpr int kFunctionRegisters = 4;     // CU_FUNC_ATTRIBUTE_NUM_REGS

/// Entry points for captured graphs, found by name by Driver. Null: the driver is too old for it.
struct GraphCalls {
  int (*nodes)(Graph, GraphNode*, std::size_t*) = nullptr;
  int (*edges)(Graph, GraphNode*, GraphNode*, GraphEdge*, std::size_t*) = nullptr;
  int (*node_type)(GraphNode, NodeType*) = nullptr;
  int (*kernel_node)(GraphNode, KernelNode*) = nullptr;
  int (*child_graph)(GraphNode, Graph*) = nullptr;
  int (*kernel_function)(Function*, Kernel) = nullptr;
  int (*function_name)(const char**, Function) = nullptr;
  int (*function_attribute)(int*, int, Function) = nullptr;
  int (*update)(GraphExecutable, Graph, GraphUpdate*) = nullptr;
};

/// Calls `visit(member, "cuName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_graph_call(Calls& calls, Visit visit) {
  visit(calls.nodes, "cuGraphGetNodes");
  visit(calls.edges, "cuGraphGetEdges_v2");
  visit(calls.node_type, "cuGraphNodeGetType");
  visit(calls.kernel_node, "cuGraphKernelNodeGetParams_v2");
  visit(calls.child_graph, "cuGraphChildGraphNodeGetGraph");
  visit(calls.kernel_function, "cuKernelGetFunction");
  visit(calls.function_name, "cuFuncGetName");
  visit(calls.function_attribute, "cuFuncGetAttribute");
  visit(calls.update, "cuGraphExecUpdate_v2");
}

}  // namespace plumb::cuda::abi
