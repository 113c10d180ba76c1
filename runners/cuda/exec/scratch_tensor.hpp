// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Scratch tensor. Built-in kernels make it from a layer's operands, or a library makes it for
/// these kernels.
struct ScratchTensor {
  model::TensorType type;
  TensorLayout layout = TensorLayout::kChannelsFirst;
  bool weight = false;  ///< made of constant operands alone
};

/// Adds the tensor's buffer to a plan, and returns the buffer's index.
std::size_t add_scratch(ExecutionPlan& plan, const ScratchTensor& made);

/// Appends launches, whose operands are the plan's buffers, to steps of the plan.
void append_launches(std::vector<DeviceStep>& steps,
                     const std::vector<KernelLaunch>& launches,
                     const ExecutionPlan& plan,
                     const KernelStep& kernel);

}  // namespace plumb::cuda
