// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/host_plan.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "harness/model/quantized_product.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/index_space.hpp"
#include "runners/cuda/integer_offers.hpp"
#include "runners/cuda/own_step.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::cuda {
namespace {

DeviceLaunch by_reference(const LayerSpec& spec,
                          TensorLayout layout,
                          std::vector<abi::DevicePointer> at) {
  return [spec, layout, at = std::move(at)](abi::Stream) {
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
      if (!spec.has_input(i)) {
        operands.emplace_back();
        continue;
      }
      const TensorType& type = *spec.inputs[i];
      const auto* bytes = reinterpret_cast<const std::byte*>(at[i]);
      const auto size = static_cast<std::size_t>(byte_size(type).value);
      operands.push_back({type, laid_out(type, {bytes, size}, layout, true)});
    }
    const Tensor result = reference_outputs(spec, operands).at(0);
    const std::vector<std::byte> laid = laid_out(result.type, result.data, layout, false);
    std::memcpy(reinterpret_cast<void*>(at[spec.inputs.size()]), laid.data(), laid.size());
  };
}

std::vector<DeviceOffer> own_offers(const LayerSpec& spec, HostKernels& kernels) {
  std::vector<DeviceOffer> result;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    if (!has_own_kernel(spec.op, layout)) {
      continue;
    }
    const OwnLayer layer = own_layer(spec, layout);
    DeviceOffer offer{
        "impl=plumb;layout=" + std::string(to_text(layout)), layer.inputs, layer.outputs, {}};
    offer.build = [&kernels, spec, layer] { return own_plan(spec, layer, kernels.steps()); };
    result.push_back(std::move(offer));
  }
  return result;
}

/// Executes a step that sees what it says it reads and writes, and in place of all else what is no
/// number; throws if it changes what it says it reads.
void run_step(const DevicePlan& plan,
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

DeviceOffer library_offer(const LayerSpec& spec, TensorLayout layout, const std::string& text) {
  DeviceOffer offer;
  offer.text = text;
  offer.inputs.assign(spec.inputs.size(), layout);
  offer.outputs.assign(spec.outputs.size(), layout);
  offer.build = [spec, layout, inputs = offer.inputs, outputs = offer.outputs] {
    DevicePlan plan = begin_plan(spec, inputs, outputs);
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
  return offer;
}

std::vector<DeviceOffer> host_offers(const LayerSpec& spec, HostKernels& kernels) {
  constexpr TensorLayout kFirst = TensorLayout::kChannelsFirst;
  constexpr TensorLayout kLast = TensorLayout::kChannelsLast;
  if (spec.op == "conv") {
    return {library_offer(spec, kFirst, "impl=host;layout=NCHW"),
            library_offer(spec, kLast, "impl=host;layout=NHWC")};
  }
  if (spec.op == "matmul" || spec.op == "gemm") {
    return {library_offer(spec, kFirst, "impl=host")};
  }
  if (!is_integer_product(spec)) {
    return own_offers(spec, kernels);
  }
  const bool images = spec.op == "conv_integer";
  std::vector<DeviceOffer> offers = integer_offers(
      spec,
      [images](const LayerSpec& product) -> std::vector<DeviceOffer> {
        if (!images) {
          return {library_offer(product, kFirst, "impl=host")};
        }
        return {library_offer(product, kLast, "impl=host;layout=NHWC"),
                library_offer(product, kFirst, "impl=host;layout=NCHW")};
      },
      kernels.steps());
  return offers;
}

std::vector<Tensor> run_plan(const DevicePlan& plan,
                             const std::vector<TensorType>& outputs,
                             const std::function<const Tensor&(std::size_t operand)>& operand) {
  std::vector<std::byte> arena(plan.arena_bytes, std::byte{0x7f});  // not numbers
  std::vector<std::vector<std::byte>> owned;
  std::vector<abi::DevicePointer> addresses;
  for (const DeviceBuffer& buffer : plan.buffers) {
    if (buffer.arena) {
      addresses.push_back(reinterpret_cast<abi::DevicePointer>(arena.data() + *buffer.arena));
      continue;
    }
    if (buffer.role == DeviceBuffer::Role::kInput && buffer.bytes > 0) {
      const Tensor& held = operand(buffer.operand);
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
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const DeviceBuffer& buffer = plan.buffers[plan.outputs[i]];
    const auto* bytes = reinterpret_cast<const std::byte*>(addresses[plan.outputs[i]]);
    results.push_back(
        {outputs.at(i), laid_out(buffer.type, {bytes, buffer.bytes}, buffer.layout, true)});
  }
  return results;
}

}  // namespace plumb::cuda
