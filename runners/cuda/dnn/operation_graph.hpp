// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/dnn/descriptor.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"

namespace plumb::cuda {

/// Graph in cuDNN's own form, with the descriptors of which it is made. They must live as long as
/// the graph.
struct OperationGraph {
  std::vector<Descriptor> parts;
  Descriptor graph;
};

/// Makes cuDNN's own form of a graph. A graph that is to be executed needs its device's `handle`.
/// Throws CudnnRefusal.
[[nodiscard]] OperationGraph operation_graph(const CudnnLibrary& library,
                                             const TensorGraph& graph,
                                             abi::CudnnHandle handle = nullptr);

}  // namespace plumb::cuda
