// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/execution_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>

#include "harness/model/key/training_layers.hpp"

namespace plumb::cuda {

std::string entry_text(const KernelLaunch& launch, const std::string& name) {
  return fmt::format(
      "extern \"C\" __global__ void {}(plumb::cuda::kernels::Addresses<{}> operands, "
      "plumb::cuda::kernels::{} shape) {{\n"
      "  using namespace plumb::cuda::kernels;\n"
      "  {}(operands, shape);\n}}\n",
      name,
      launch.addresses,
      launch.shape_type,
      launch.call);
}

engine::PlanBuffer::Uses buffers_of(const KernelLaunch& launch,
                                    const std::vector<std::size_t>& buffers) {
  engine::PlanBuffer::Uses result;
  for (std::size_t i = 0; i < launch.operands.size(); ++i) {
    const std::size_t buffer = buffers.at(launch.operands[i]);
    if (i < launch.outputs) {
      result.writes.push_back(buffer);
    }
    if (i < launch.updated || i >= launch.outputs) {
      result.reads.push_back(buffer);
    }
  }
  return result;
}

std::string kernel_name(const KernelLaunch& launch) {
  constexpr std::size_t kLongest = 128;
  std::string name = "plumb";
  bool apart = true;
  for (const char character : launch.call) {
    const bool plain = (character >= 'a' && character <= 'z') ||
                       (character >= 'A' && character <= 'Z') ||
                       (character >= '0' && character <= '9');
    if (plain && name.size() + 2 <= kLongest) {
      name += apart ? "_" : "";
      name += character;
    }
    apart = !plain;
  }
  return name;
}

std::string_view to_text(TensorLayout layout) {
  return layout == TensorLayout::kChannelsFirst ? "NCHW" : "NHWC";
}

Dimensions compute_strides(const Dimensions& dimensions, TensorLayout layout) {
  Dimensions strides(dimensions.size());
  std::int64_t next = 1;
  const auto lay = [&](std::size_t axis) {
    strides[axis] = next;
    next *= std::max<std::int64_t>(dimensions[axis], 1);
  };
  const bool channels_last = layout == TensorLayout::kChannelsLast && dimensions.size() > 1;
  if (channels_last) {
    lay(1);
  }
  for (std::size_t axis = dimensions.size(); axis-- > 0;) {
    if (axis != 1 || !channels_last) {
      lay(axis);
    }
  }
  return strides;
}

bool same_order(const Dimensions& dimensions, TensorLayout a, TensorLayout b) {
  const Dimensions one = compute_strides(dimensions, a);
  const Dimensions other = compute_strides(dimensions, b);
  for (std::size_t axis = 0; axis < dimensions.size(); ++axis) {
    if (dimensions[axis] > 1 && one[axis] != other[axis]) {
      return false;
    }
  }
  return true;
}

namespace {

/// Returns whether one step along `outer` is as far as all steps along `inner`, for every operand.
bool continues(const std::vector<Dimensions>& strides,
               std::size_t outer,
               std::size_t inner,
               std::int64_t inner_extent) {
  return std::all_of(strides.begin(), strides.end(), [&](const Dimensions& each) {
    return each[outer] == each[inner] * inner_extent;
  });
}

}  // namespace

kernels::Space plain_space(const Dimensions& extents, const std::vector<Dimensions>& strides) {
  if (extents.size() > kernels::kMaxAxes || strides.size() > kernels::kMaxOperands) {
    throw Unsupported(fmt::format("{} axes of {} operands: built-in kernels have at most {} of {}",
                                  extents.size(),
                                  strides.size(),
                                  kernels::kMaxAxes,
                                  kernels::kMaxOperands));
  }
  kernels::Space space{};
  space.rank = static_cast<int>(extents.size());
  space.count = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    space.extents[axis] = extents[axis];
    space.count *= extents[axis];
    for (std::size_t operand = 0; operand < strides.size(); ++operand) {
      space.strides[operand][axis] = strides[operand].at(axis);
    }
  }
  if (space.count == 0) {
    throw Unsupported("a tensor without elements");
  }
  return space;
}

kernels::Space joined_space(const Dimensions& extents, const std::vector<Dimensions>& strides) {
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] != 1) {
      order.push_back(axis);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(strides.at(0)[a]) > std::abs(strides.at(0)[b]);
  });
  Dimensions joined;
  std::vector<Dimensions> steps(strides.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t axis = order[place];
    if (place > 0 && continues(strides, order[place - 1], axis, extents[axis])) {
      joined.back() *= extents[axis];
      for (std::size_t operand = 0; operand < strides.size(); ++operand) {
        steps[operand].back() = strides[operand][axis];
      }
      continue;
    }
    joined.push_back(extents[axis]);
    for (std::size_t operand = 0; operand < strides.size(); ++operand) {
      steps[operand].push_back(strides[operand][axis]);
    }
  }
  return plain_space(joined, steps);
}

Dimensions broadcast_strides(const Dimensions& operand,
                             const Dimensions& operand_strides,
                             const Dimensions& result) {
  if (operand.size() > result.size()) {
    throw Unsupported("an operand has more axes than the result");
  }
  Dimensions strides(result.size(), 0);
  const std::size_t ahead = result.size() - operand.size();
  for (std::size_t axis = 0; axis < operand.size(); ++axis) {
    if (operand[axis] != result[ahead + axis] && operand[axis] != 1) {
      throw Unsupported(fmt::format(
          "an operand's extent {} does not broadcast to {}", operand[axis], result[ahead + axis]));
    }
    strides[ahead + axis] = operand[axis] == 1 ? 0 : operand_strides[axis];
  }
  return strides;
}

std::string element_name(model::DataType type) {
  switch (type) {
    case model::DataType::kF64:
      return "double";
    case model::DataType::kF32:
      return "float";
    case model::DataType::kF16:
      return "Half";
    case model::DataType::kBf16:
      return "Bfloat";
    case model::DataType::kS64:
      return "Index";
    case model::DataType::kS32:
      return "int";
    case model::DataType::kS16:
      return "short";
    case model::DataType::kS8:
      return "signed char";
    case model::DataType::kU32:
      return "unsigned int";
    case model::DataType::kU16:
      return "unsigned short";
    case model::DataType::kU8:
      return "unsigned char";
    case model::DataType::kBool:
      return "Boolean";
    default:
      throw Unsupported(fmt::format("built-in kernels do not compute with {}", to_text(type)));
  }
}

std::string compute_name(model::DataType type) {
  static_cast<void>(element_name(type));
  if (type == model::DataType::kF64) {
    return "double";
  }
  return model::is_floating(type) ? "float" : "Index";
}

std::string moved_name(model::DataType type) {
  switch (model::element_bytes(type)) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned int";
    case 8:
      return "unsigned long long";
    default:
      throw Unsupported(fmt::format("built-in kernels do not move {}", to_text(type)));
  }
}

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

std::size_t add_scratch(ExecutionPlan& plan, const ExecutionPlan::Scratch& made) {
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
