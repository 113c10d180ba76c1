// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/kernels/builtin_kernel.hpp"

#include <fmt/format.h>

#include <utility>

namespace plumb::onednn {
namespace {

Buffer plain_buffer(Buffer::Role role,
                    std::size_t operand,
                    bool weight,
                    const model::TensorType& type) {
  Buffer buffer;
  buffer.role = role;
  buffer.operand = operand;
  buffer.weight = weight;
  buffer.bytes = static_cast<std::size_t>(model::byte_size(type).value);
  return buffer;
}

}  // namespace

void add_own(BuilderList& list,
             const model::LayerSpec& spec,
             const std::string& name,
             BuiltinKernel kernel) {
  require(spec.epilogue.empty(), spec, "built-in kernels fuse nothing");
  VariantBuilder builder;
  builder.implementation = "plumb:" + name;
  builder.build = [spec, implementation = builder.implementation, kernel = std::move(kernel)] {
    ExecutionPlan plan;
    plan.implementation = implementation;
    for (std::size_t index = 0; index < spec.inputs.size(); ++index) {
      const bool present = spec.has_input(index);
      plan.buffers.push_back(
          present
              ? plain_buffer(
                    Buffer::Role::kInput, index, spec.inputs[index]->constant, *spec.inputs[index])
              : Buffer{});
    }
    for (std::size_t index = 0; index < spec.outputs.size(); ++index) {
      plan.outputs.push_back(plan.buffers.size());
      plan.buffers.push_back(
          plain_buffer(Buffer::Role::kOutput, index, false, spec.outputs[index]));
    }
    plan.steps.emplace_back(
        KernelStep([kernel, inputs = spec.inputs.size()](std::span<std::byte* const> buffers) {
          kernel(KernelOperands(buffers, inputs));
        }));
    return plan;
  };
  list.add(std::move(builder));
}

void require(bool condition, const model::LayerSpec& spec, const char* what) {
  if (!condition) {
    throw Unsupported(fmt::format("{}: {}", spec.op, what));
  }
}

void require_operands(const model::LayerSpec& spec, std::size_t count) {
  bool complete = spec.inputs.size() >= count && spec.outputs.size() == 1;
  for (std::size_t index = 0; complete && index < count; ++index) {
    complete = spec.has_input(index);
  }
  if (!complete) {
    throw Unsupported(fmt::format("{} needs {} operands and one output", spec.op, count));
  }
}

std::size_t moved_element_bytes(const model::LayerSpec& spec) {
  const model::DataType type = spec.inputs.at(0).value().dtype;
  const std::int64_t bytes = model::element_bytes(type);
  require(bytes > 0 && spec.outputs.at(0).dtype == type,
          spec,
          "element types must agree and have a size");
  return static_cast<std::size_t>(bytes);
}

}  // namespace plumb::onednn
