// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/host_plan.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "harness/model/key/operator_families.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/builtin/integer_variants.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::cuda {
namespace {

DeviceLaunch by_reference(const model::LayerSpec& spec,
                          TensorLayout layout,
                          std::vector<abi::DevicePointer> at) {
  return [spec, layout, at = std::move(at)](abi::Stream) {
    std::vector<model::Tensor> operands;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
      if (!spec.has_input(i)) {
        operands.emplace_back();
        continue;
      }
      const model::TensorType& type = *spec.inputs[i];
      const auto* bytes = reinterpret_cast<const std::byte*>(at[i]);
      const auto size = static_cast<std::size_t>(model::byte_size(type).value);
      operands.push_back({type, laid_out(type, {bytes, size}, layout, true)});
    }
    const model::Tensor result = engine::reference_outputs(spec, operands).at(0);
    const std::vector<std::byte> laid = laid_out(result.type, result.data, layout, false);
    std::memcpy(reinterpret_cast<void*>(at[spec.inputs.size()]), laid.data(), laid.size());
  };
}

std::vector<VariantBuilder> builtin_variants(const model::LayerSpec& spec, HostKernels& kernels) {
  std::vector<VariantBuilder> result;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    if (!has_builtin_kernel(spec.op, layout)) {
      continue;
    }
    const BuiltinLayer layer = builtin_layer(spec, layout);
    VariantBuilder builder{
        "impl=plumb;layout=" + std::string(to_text(layout)), layer.inputs, layer.outputs, {}};
    builder.build = [&kernels, spec, layer] { return builtin_plan(spec, layer, kernels.steps()); };
    result.push_back(std::move(builder));
  }
  return result;
}

/// Executes a step that sees what it says it reads and writes, and in place of all else what is no
/// number; throws if it changes what it says it reads.
void run_step(const ExecutionPlan& plan,
              const DeviceStep& step,
              const std::vector<abi::DevicePointer>& addresses) {
  std::size_t most = 0;
  for (const DeviceBuffer& buffer : plan.buffers) {
    most = std::max(most, buffer.bytes);
  }
  std::vector<std::byte> nothing(most, std::byte{0x7f});
  std::vector<abi::DevicePointer> seen(addresses.size(),
                                       reinterpret_cast<abi::DevicePointer>(nothing.data()));
  for (const std::size_t written : step.buffers.writes) {
    seen.at(written) = addresses.at(written);
  }
  std::map<std::size_t, std::vector<std::byte>> before;
  const auto bytes_of = [&](std::size_t buffer) {
    const auto* const from = reinterpret_cast<const std::byte*>(addresses.at(buffer));
    return std::vector<std::byte>(from, from + plan.buffers[buffer].bytes);
  };
  const std::vector<std::size_t>& writes = step.buffers.writes;
  for (const std::size_t read : step.buffers.reads) {
    seen.at(read) = addresses.at(read);
    if (std::find(writes.begin(), writes.end(), read) == writes.end()) {
      before[read] = bytes_of(read);
    }
  }
  step.bind(seen, 0)(nullptr);
  for (const auto& [read, bytes] : before) {
    if (bytes_of(read) != bytes) {
      throw std::logic_error("a step changes what it says it reads");
    }
  }
}

}  // namespace

VariantBuilder library_builder(const model::LayerSpec& spec,
                               TensorLayout layout,
                               const std::string& text) {
  VariantBuilder builder;
  builder.text = text;
  builder.inputs.assign(spec.inputs.size(), layout);
  builder.outputs.assign(spec.outputs.size(), layout);
  builder.build = [spec, layout, inputs = builder.inputs, outputs = builder.outputs] {
    ExecutionPlan plan = begin_plan(spec, inputs, outputs);
    DeviceStep step;
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      (i < spec.inputs.size() ? step.buffers.reads : step.buffers.writes).push_back(i);
    }
    step.bind = [spec, layout](std::span<const abi::DevicePointer> buffers, abi::DevicePointer) {
      return by_reference(spec, layout, {buffers.begin(), buffers.end()});
    };
    plan.steps.push_back(std::move(step));
    return plan;
  };
  return builder;
}

std::vector<VariantBuilder> host_builders(const model::LayerSpec& spec, HostKernels& kernels) {
  constexpr TensorLayout kFirst = TensorLayout::kChannelsFirst;
  constexpr TensorLayout kLast = TensorLayout::kChannelsLast;
  if (spec.op == "conv") {
    return {library_builder(spec, kFirst, "impl=host;layout=NCHW"),
            library_builder(spec, kLast, "impl=host;layout=NHWC")};
  }
  if (spec.op == "matmul" || spec.op == "gemm") {
    return {library_builder(spec, kFirst, "impl=host")};
  }
  if (!model::is_integer_product(spec)) {
    return builtin_variants(spec, kernels);
  }
  const bool images = spec.op == "conv_integer";
  std::vector<VariantBuilder> builders = integer_variants(
      spec,
      [images](const model::LayerSpec& product) -> std::vector<VariantBuilder> {
        if (!images) {
          return {library_builder(product, kFirst, "impl=host")};
        }
        return {library_builder(product, kLast, "impl=host;layout=NHWC"),
                library_builder(product, kFirst, "impl=host;layout=NCHW")};
      },
      kernels.steps());
  return builders;
}

std::vector<model::Tensor> run_plan(
    const ExecutionPlan& plan,
    const std::vector<model::TensorType>& outputs,
    const std::function<const model::Tensor&(std::size_t operand)>& operand) {
  std::vector<std::byte> arena(plan.arena_bytes, std::byte{0x7f});  // not numbers
  std::vector<std::vector<std::byte>> owned;
  std::vector<abi::DevicePointer> addresses;
  for (const DeviceBuffer& buffer : plan.buffers) {
    if (buffer.arena) {
      addresses.push_back(reinterpret_cast<abi::DevicePointer>(arena.data() + *buffer.arena));
      continue;
    }
    if (buffer.role == DeviceBuffer::Role::kInput && buffer.bytes > 0) {
      const model::Tensor& held = operand(buffer.operand);
      owned.push_back(laid_out(held.type, held.data, buffer.layout, false));
    } else {
      owned.emplace_back(buffer.bytes, std::byte{0x5a});
    }
    addresses.push_back(reinterpret_cast<abi::DevicePointer>(owned.back().data()));
  }
  for (const DeviceStep& step : plan.once) {
    run_step(plan, step, addresses);
  }
  for (const DeviceStep& step : plan.steps) {
    run_step(plan, step, addresses);
  }
  std::vector<model::Tensor> results;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const DeviceBuffer& buffer = plan.buffers[plan.outputs[i]];
    const auto* bytes = reinterpret_cast<const std::byte*>(addresses[plan.outputs[i]]);
    results.push_back(
        {outputs.at(i), laid_out(buffer.type, {bytes, buffer.bytes}, buffer.layout, true)});
  }
  return results;
}

}  // namespace plumb::cuda
