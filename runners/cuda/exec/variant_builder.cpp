// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/variant_builder.hpp"

#include "harness/model/key/update_layer.hpp"

namespace plumb::cuda {

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
