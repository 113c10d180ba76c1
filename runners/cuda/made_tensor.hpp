// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runners/cuda/device_plan.hpp"

namespace plumb::cuda {

/// A scratch tensor. Built-in kernels make it from a layer's operands, or a library makes it for
/// these kernels.
struct MadeTensor {
  TensorType type;
  TensorLayout layout = TensorLayout::kChannelsFirst;
  bool weight = false;  ///< of constant operands
};

/// Adds its buffer to a plan and returns which it is.
std::size_t add_made(DevicePlan& plan, const MadeTensor& made);

/// Appends launches, whose operands are the plan's buffers, to steps of the plan.
void append_launches(std::vector<DeviceStep>& steps,
                     const std::vector<KernelLaunch>& launches,
                     const DevicePlan& plan,
                     const KernelStep& kernel);

}  // namespace plumb::cuda
