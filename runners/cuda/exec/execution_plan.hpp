// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/attributes.hpp"
#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/cuda/exec/tensor_layout.hpp"
#include "runners/engine/plan/execution_plan.hpp"
#include "runners/engine/plan/step_buffers.hpp"

namespace plumb::cuda {

/// One piece of GPU memory that a plan needs.
struct DeviceBuffer : engine::PlanBuffer {
  model::TensorType type;
  TensorLayout layout = TensorLayout::kChannelsFirst;
};

/// Function that puts one step into a stream. It does nothing else and allocates nothing.
using DeviceLaunch = std::function<void(abi::Stream)>;

/// One step of a plan. `bind` takes the addresses of the plan's buffers and of a workspace, and
/// returns the function that launches the step there.
struct DeviceStep {
  std::function<DeviceLaunch(std::span<const abi::DevicePointer> buffers,
                             abi::DevicePointer workspace)>
      bind;
  engine::StepBuffers buffers;
};

struct KernelLaunch;
/// Function that makes the step of a launch on buffers of a plan (KernelLibrary::step).
using KernelStep =
    std::function<DeviceStep(const KernelLaunch& launch, const std::vector<std::size_t>& buffers)>;

/// Execution plan of a layer or a model, ready to be given GPU memory.
struct ExecutionPlan : engine::ExecutionPlan<DeviceBuffer, DeviceStep> {
  /// Steps that run when a slot is bound, outside every timed part. They read weights alone, and
  /// write intermediates that are marked as weights.
  std::vector<DeviceStep> once;
  std::vector<std::size_t> streams;  ///< by step; empty: all on one
  Seconds listing{};                 ///< of its layer's variants; zero: not measured
  results::Attributes attributes;    ///< that are known from making it
};

/// Returns a part's step as a step of a plan that holds the part's buffers elsewhere. `map` says
/// where.
[[nodiscard]] DeviceStep mapped(const DeviceStep& step, const std::vector<std::size_t>& map);

/// Returns how much memory one slot of a plan and the plan's workspaces take.
[[nodiscard]] Bytes memory_needed(const ExecutionPlan& plan);

}  // namespace plumb::cuda
