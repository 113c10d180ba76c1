// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "runners/cuda/dnn/operation_graph.hpp"
#include "tests/support/cuda_driver/control.hpp"
#include "tests/support/cuda_libraries/cudnn_descriptor.hpp"

namespace plumb::stand_in {

/// Operation graph that was read back from descriptors. A tensor's index is its place among the
/// ids, in order.
struct DnnPlan {
  cuda::TensorGraph graph;
  std::vector<std::int64_t> ids;        ///< by tensor
  std::vector<bool> by_value;           ///< by tensor: the pack points to a number of the host's
  std::vector<std::size_t> alignments;  ///< by tensor
};

/// Reads a graph from an operation graph's descriptor. Throws std::exception where it lacks
/// something, is no graph, or has an operation that the stand-in does not execute.
[[nodiscard]] std::shared_ptr<const DnnPlan> read_plan(const DnnDescriptor& operation_graph);

/// Puts the execution of a plan into a stream. `pointers` are by id. Returns a status of cuDNN.
[[nodiscard]] int execute_plan(const std::shared_ptr<const DnnPlan>& plan,
                               const std::map<std::int64_t, void*>& pointers,
                               void* workspace,
                               std::size_t workspace_bytes,
                               void* stream);

}  // namespace plumb::stand_in
