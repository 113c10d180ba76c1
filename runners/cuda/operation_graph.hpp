// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/descriptor.hpp"
#include "runners/cuda/tensor_graph.hpp"

namespace plumb::cuda {

/// Is cuDNN's own form of a graph, with what it is made of, which must live as long.
struct OperationGraph {
  std::vector<Descriptor> parts;
  Descriptor graph;
};

/// Makes cuDNN's own form of a graph, of a device's `handle` if it is to be executed. Throws
/// CudnnRefusal.
[[nodiscard]] OperationGraph operation_graph(const CudnnLibrary& library,
                                             const TensorGraph& graph,
                                             abi::CudnnHandle handle = nullptr);

}  // namespace plumb::cuda
