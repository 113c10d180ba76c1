// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/measurement.hpp"
#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/cuda/kernels/shapes.hpp"
#include "runners/engine/plan/execution_plan.hpp"

namespace plumb::cuda {

/// One launch of a built-in kernel, as a value: code to compile, parameters, inputs and outputs.
/// Needs no device.
struct KernelLaunch {
  std::string call;                   ///< "map_one<relu_of, float, float, float>"
  std::string shape_type;             ///< "MapShape": the type in `shape`
  std::vector<std::byte> shape;       ///< one of kernels/shapes.hpp
  std::vector<std::size_t> operands;  ///< buffers of the plan, the outputs first
  unsigned blocks = 1;
  unsigned threads = 1;
  bool in_rows = false;                        ///< a block's threads wait for each other
  std::size_t outputs = 1;                     ///< how many of the operands it writes
  std::size_t updated = 0;                     ///< how many of those it also reads: the first
  unsigned addresses = kernels::kMaxOperands;  ///< that its kernel takes, used or not
};

/// Returns which of a plan's buffers a launch reads and writes. `buffers` maps its operands to the
/// plan's buffers.
[[nodiscard]] engine::PlanBuffer::Uses buffers_of(const KernelLaunch& launch,
                                                  const std::vector<std::size_t>& buffers);

/// Returns the name of a launch's kernel as the driver and profilers show it. An example is
/// "plumb_map_one_relu_of_float". It has at most 128 characters.
[[nodiscard]] std::string kernel_name(const KernelLaunch& launch);

/// Makes a launch of a kernel in which each thread works on one element per step.
template <typename Shape>
KernelLaunch element_launch(std::string call,
                            const char* shape_type,
                            const Shape& shape,
                            kernels::Index elements,
                            std::vector<std::size_t> operands) {
  constexpr kernels::Index kThreads = 256;
  constexpr kernels::Index kMaxBlocks = 1 << 20;  // beyond, each thread takes several steps
  KernelLaunch launch{std::move(call), shape_type, {}, std::move(operands), 1, kThreads};
  launch.shape.resize(sizeof shape);
  std::memcpy(launch.shape.data(), &shape, sizeof shape);
  const kernels::Index blocks = (elements + kThreads - 1) / kThreads;
  launch.blocks = static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
  return launch;
}

/// Makes a launch of a kernel in which each block works on one row at a time.
template <typename Shape>
KernelLaunch block_launch(std::string call,
                          const char* shape_type,
                          const Shape& shape,
                          kernels::Index rows,
                          std::vector<std::size_t> operands) {
  KernelLaunch launch = element_launch(std::move(call), shape_type, shape, 1, std::move(operands));
  constexpr kernels::Index kMaxBlocks = 1 << 20;
  launch.blocks = static_cast<unsigned>(rows < kMaxBlocks ? rows : kMaxBlocks);
  launch.threads = kernels::kThreadsOfRow;
  launch.in_rows = true;
  return launch;
}

/// Makes a launch as block_launch() does, for the rows of a RowShape.
inline KernelLaunch row_launch(std::string call,
                               const kernels::RowShape& shape,
                               std::vector<std::size_t> operands) {
  return block_launch(std::move(call), "RowShape", shape, shape.rows.count, std::move(operands));
}

/// Returns the source of a launch's entry point, which is called `name` and has C linkage.
[[nodiscard]] std::string entry_text(const KernelLaunch& launch, const std::string& name);

/// Returns the text of all kernels/ files, in an order in which they compile.
[[nodiscard]] std::string kernel_sources();

using Dimensions = std::vector<std::int64_t>;

/// Place of the channels of activations and weights: before the spatial axes, or last.
enum class TensorLayout { kChannelsFirst, kChannelsLast };
/// Returns "NCHW" or "NHWC", also for other than two spatial axes.
[[nodiscard]] std::string_view to_text(TensorLayout layout);

/// Returns the strides of a dense tensor, in elements. Axis 1 has the channels.
[[nodiscard]] Dimensions compute_strides(const Dimensions& dimensions, TensorLayout layout);

/// Returns whether two layouts store the elements in the same order.
[[nodiscard]] bool same_order(const Dimensions& dimensions, TensorLayout a, TensorLayout b);

using engine::Unsupported;

/// Makes an index space with the axes as they are. `strides` has those of each operand, the
/// output's first. Throws Unsupported for too many axes or operands, and for a tensor without
/// elements.
[[nodiscard]] kernels::Space plain_space(const Dimensions& extents,
                                         const std::vector<Dimensions>& strides);

/// Makes an index space with the axes in the output's memory order. Axes are joined that all
/// operands step through as if they were one. That takes fewer divisions, and neighbouring threads
/// write neighbouring elements. Throws as plain_space() does.
[[nodiscard]] kernels::Space joined_space(const Dimensions& extents,
                                          const std::vector<Dimensions>& strides);

/// Returns an operand's strides along a result's axes: 0 where it is broadcast (as numpy does).
/// Throws Unsupported if it does not fit.
[[nodiscard]] Dimensions broadcast_strides(const Dimensions& operand,
                                           const Dimensions& operand_strides,
                                           const Dimensions& result);

/// Returns the name of an element type in the kernels: "float", "Half", "Index". Throws
/// Unsupported.
[[nodiscard]] std::string element_name(model::DataType type);
/// Returns the name of the type in which an element type is computed: "float", "double" or "Index".
/// Throws Unsupported.
[[nodiscard]] std::string compute_name(model::DataType type);
/// Returns the name of a type with as many bytes, for kernels that only move elements. Throws
/// Unsupported.
[[nodiscard]] std::string moved_name(model::DataType type);

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
  engine::PlanBuffer::Uses buffers;
};

/// Function that makes the step of a launch on buffers of a plan (KernelLibrary::step).
using KernelStep =
    std::function<DeviceStep(const KernelLaunch& launch, const std::vector<std::size_t>& buffers)>;

/// Execution plan of a layer or a model, ready to be given GPU memory.
struct ExecutionPlan : engine::ExecutionPlan<DeviceBuffer, DeviceStep> {
  /// Scratch tensor. Built-in kernels make it from a layer's operands, or a library makes it for
  /// these kernels.
  struct Scratch {
    model::TensorType type;
    TensorLayout layout = TensorLayout::kChannelsFirst;
    bool weight = false;  ///< made of constant operands alone
  };

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

/// Adds the tensor's buffer to a plan, and returns the buffer's index.
std::size_t add_scratch(ExecutionPlan& plan, const ExecutionPlan::Scratch& made);

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
