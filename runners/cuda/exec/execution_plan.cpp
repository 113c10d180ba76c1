// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/execution_plan.hpp"

#include <algorithm>
#include <numeric>

#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/exec/kernel_launch.hpp"

namespace plumb::cuda {

Bytes memory_needed(const ExecutionPlan& plan) {
  const std::size_t streams =
      plan.streams.empty() ? 1 : *std::max_element(plan.streams.begin(), plan.streams.end()) + 1;
  std::size_t bytes = plan.workspace_bytes * streams + plan.arena_bytes;
  for (const DeviceBuffer& buffer : plan.buffers) {
    bytes += buffer.arena ? 0 : buffer.bytes;
  }
  return Bytes{static_cast<std::int64_t>(bytes)};
}

DeviceStep mapped(const DeviceStep& step, const std::vector<std::size_t>& map) {
  DeviceStep result;
  result.buffers = engine::mapped(step.buffers, map);
  result.bind = [bind = step.bind, map](std::span<const abi::DevicePointer> buffers,
                                        abi::DevicePointer workspace) {
    std::vector<abi::DevicePointer> own;
    own.reserve(map.size());
    for (const std::size_t buffer : map) {
      own.push_back(buffers[buffer]);
    }
    return bind(own, workspace);
  };
  return result;
}

std::size_t add_scratch(ExecutionPlan& plan, const ScratchTensor& made) {
  DeviceBuffer& buffer = plan.buffers.emplace_back();
  buffer.role = DeviceBuffer::Role::kIntermediate;
  buffer.weight = made.weight;
  buffer.type = made.type;
  buffer.layout = made.layout;
  buffer.bytes = static_cast<std::size_t>(model::byte_size(made.type).value);
  return plan.buffers.size() - 1;
}

void append_launches(std::vector<DeviceStep>& steps,
                     const std::vector<KernelLaunch>& launches,
                     const ExecutionPlan& plan,
                     const KernelStep& kernel) {
  std::vector<std::size_t> same(plan.buffers.size());
  std::iota(same.begin(), same.end(), 0U);
  for (const KernelLaunch& launch : launches) {
    steps.push_back(kernel(launch, same));
  }
}

ExecutionPlan begin_plan(const model::LayerSpec& spec,
                         const std::vector<TensorLayout>& inputs,
                         const std::vector<TensorLayout>& outputs) {
  ExecutionPlan plan;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    DeviceBuffer& buffer = plan.buffers.emplace_back();
    buffer.operand = i;
    if (spec.inputs[i]) {
      buffer.type = *spec.inputs[i];
      buffer.weight = buffer.type.constant;
      buffer.layout = inputs.at(i);
      buffer.bytes = static_cast<std::size_t>(model::byte_size(buffer.type).value);
    }
  }
  if (model::is_update(spec)) {
    const model::UpdateShape shape(spec);
    for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
      plan.buffers.at(shape.replaced(i)).updated = true;
      plan.outputs.push_back(shape.replaced(i));
    }
    return plan;
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    DeviceBuffer& buffer = plan.buffers.emplace_back();
    buffer.role = DeviceBuffer::Role::kOutput;
    buffer.operand = i;
    buffer.type = spec.outputs[i];
    buffer.layout = outputs.at(i);
    buffer.bytes = static_cast<std::size_t>(model::byte_size(buffer.type).value);
    plan.outputs.push_back(plan.buffers.size() - 1);
  }
  return plan;
}

void add_scratch_buffers(ExecutionPlan& plan, const std::vector<model::TensorType>& types) {
  for (const model::TensorType& type : types) {
    DeviceBuffer& buffer = plan.buffers.emplace_back();
    buffer.role = DeviceBuffer::Role::kIntermediate;
    buffer.type = type;
    buffer.bytes = static_cast<std::size_t>(model::byte_size(type).value);
  }
}

}  // namespace plumb::cuda
