// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "runners/cuda/builtin/step_chain.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kScale = 1;
constexpr std::size_t kZeroPoint = 2;

/// Returns the strides of scales and zero points along x. There is one of each slice along the
/// axis, or one.
Dimensions grid_strides(const OwnOperands& operands) {
  Dimensions strides(operands.output().dims.size(), 0);
  if (element_count(operands.input(kScale)) > 1) {
    strides.at(static_cast<std::size_t>(operands.spec().integer("axis"))) = 1;
  }
  return strides;
}

/// Returns the name of the type that is computed in, which is as exact as x.
std::string compute_of(const OwnOperands& operands) {
  const model::DataType x = operands.input(0).dtype;
  const model::DataType scale = operands.input(kScale).dtype;
  const bool half = scale == model::DataType::kF16 || scale == model::DataType::kBf16;
  const bool wide = x == model::DataType::kF64 || x == model::DataType::kS32;
  if (wide && half) {
    throw Unsupported(fmt::format("{} with scales of {}", to_text(x), to_text(scale)));
  }
  return wide || scale == model::DataType::kF64 ? "double" : "float";
}

std::vector<KernelLaunch> mapped(const OwnOperands& operands, const StepChain& chain) {
  std::vector<Dimensions> strides{operands.output_strides(), operands.input_strides(0)};
  strides.insert(strides.end(), chain.strides().begin(), chain.strides().end());
  std::vector<std::size_t> buffers{operands.output_buffer(), operands.input_buffer(0)};
  buffers.insert(buffers.end(), chain.buffers().begin(), chain.buffers().end());
  kernels::StepShape shape{};
  shape.space = joined_space(operands.output().dims, strides);
  return {element_launch(fmt::format("map_steps<{}, {}, {}, {}, {}>",
                                     compute_of(operands),
                                     element_name(operands.output().dtype),
                                     element_name(operands.input(0).dtype),
                                     chain.operand_count(),
                                     chain.real_text()),
                         "StepShape",
                         shape,
                         shape.space.count,
                         std::move(buffers))};
}

}  // namespace

std::vector<KernelLaunch> map_quantize(const OwnOperands& operands) {
  StepChain chain(operands, 2);
  const bool shifted = operands.spec().has_input(kZeroPoint);
  chain.add_rounding(
      kScale, shifted ? std::optional(kZeroPoint) : std::nullopt, grid_strides(operands));
  return mapped(operands, chain);
}

std::vector<KernelLaunch> map_dequantize(const OwnOperands& operands) {
  StepChain chain(operands, 2);
  if (operands.spec().has_input(kZeroPoint)) {
    chain.add_combination("sub_of", kZeroPoint, grid_strides(operands));
  }
  chain.add_scaling(kScale, grid_strides(operands));
  return mapped(operands, chain);
}

}  // namespace plumb::cuda
