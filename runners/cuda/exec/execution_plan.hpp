// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/attributes.hpp"
#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/cuda/exec/step_buffers.hpp"
#include "runners/cuda/exec/tensor_layout.hpp"

namespace plumb::cuda {

/// One piece of GPU memory that a plan needs, once per slot.
struct DeviceBuffer {
  enum class Role { kInput, kOutput, kIntermediate };
  Role role = Role::kInput;
  std::size_t operand = 0;  ///< index into the layer's inputs or outputs; of a model: its operands
  bool weight = false;      ///< a constant operand, or made of such: each slot has its own
  model::TensorType type;
  TensorLayout layout = TensorLayout::kChannelsFirst;
  std::size_t bytes = 0;             ///< 0: an operand left out
  std::optional<std::size_t> arena;  ///< of an intermediate: where it lies in the plan's one block
};

/// Function that puts one step into a stream. It does nothing else and allocates nothing.
using DeviceLaunch = std::function<void(abi::Stream)>;

/// One step of a plan. `bind` takes the addresses of the plan's buffers and of a workspace, and
/// returns the function that launches the step there.
struct DeviceStep {
  std::function<DeviceLaunch(std::span<const abi::DevicePointer> buffers,
                             abi::DevicePointer workspace)>
      bind;
  StepBuffers buffers;
};

struct KernelLaunch;
/// Function that makes the step of a launch on buffers of a plan (KernelLibrary::step).
using KernelStep =
    std::function<DeviceStep(const KernelLaunch& launch, const std::vector<std::size_t>& buffers)>;

/// Execution plan of a layer or a model: what to allocate and what to run, in order. It is ready to
/// be given GPU memory.
struct ExecutionPlan {
  std::string implementation;
  std::vector<DeviceBuffer> buffers;
  std::vector<std::size_t> outputs;  ///< buffer that holds each output
  std::vector<DeviceStep> steps;
  /// Steps that run when a slot is bound, outside every timed part. They read weights alone, and
  /// write intermediates that are marked as weights.
  std::vector<DeviceStep> once;
  std::size_t workspace_bytes = 0;   ///< one for all steps of a stream, and all slots
  std::vector<std::size_t> streams;  ///< by step; empty: all on one
  std::size_t arena_bytes = 0;       ///< of the block, one a slot, that buffers with `arena` lie in
  Seconds creation{};                ///< making plans and compiling kernels
  Seconds listing{};                 ///< of its layer's variants; zero: not measured
  results::Attributes attributes;    ///< that are known from making it
};

/// Returns a part's step as a step of a plan that holds the part's buffers elsewhere. `map` says
/// where.
[[nodiscard]] DeviceStep mapped(const DeviceStep& step, const std::vector<std::size_t>& map);

/// Returns how much memory one slot of a plan and the plan's workspaces take.
[[nodiscard]] Bytes memory_needed(const ExecutionPlan& plan);

}  // namespace plumb::cuda
