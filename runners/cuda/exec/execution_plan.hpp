// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/measurement.hpp"
#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/engine/plan/execution_plan.hpp"
#include "runners/engine/plan/model_plan.hpp"

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

/// Variant of a layer on the GPU, not built yet.
struct VariantBuilder {
  std::string text;  ///< "impl=cudnn;layout=NHWC;engine=41;TILE_SIZE=5": unique for the layer
  std::vector<TensorLayout> inputs;   ///< how it wants each operand
  std::vector<TensorLayout> outputs;  ///< how it leaves each result
  /// Makes the plan. Its buffers are the layer's inputs, then its outputs, then what it needs in
  /// between. Throws Unsupported with the library's message.
  std::function<ExecutionPlan()> build;
  results::Attributes attributes{};  ///< that are known before the plan is made
};

/// Begins a plan with the buffers of a layer's operands and results, in these layouts. Results of
/// an update are those of its operands whose place they take.
[[nodiscard]] ExecutionPlan begin_plan(const model::LayerSpec& spec,
                                       const std::vector<TensorLayout>& inputs,
                                       const std::vector<TensorLayout>& outputs);

/// Adds buffers to a plan for what its steps make for one another.
void add_scratch_buffers(ExecutionPlan& plan, const std::vector<model::TensorType>& types);

}  // namespace plumb::cuda
