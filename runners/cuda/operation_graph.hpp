// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/descriptor.hpp"
#include "runners/cuda/tensor_graph.hpp"

namespace plumb::cuda {

/// A graph in cuDNN's own form, with the descriptors of which it is made. They must live as long as
/// the graph.
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
