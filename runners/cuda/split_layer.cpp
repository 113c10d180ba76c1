// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/split_layer.hpp"

#include <fmt/format.h>

#include <utility>

#include "runners/cuda/index_space.hpp"
#include "runners/cuda/own/own_layer.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kBias = 2;

LayerSpec step_on(const LayerSpec& layer, std::string op, const std::string& fn) {
  LayerSpec step;
  step.op = std::move(op);
  step.accumulate = layer.accumulate;
  step.inputs = {layer.outputs.at(0)};
  step.outputs = {layer.outputs[0]};
  step.attributes["fn"] = fn;
  return step;
}

StepBehind binary(const LayerSpec& layer, const std::string& fn, std::size_t operand) {
  if (!layer.has_input(operand)) {
    throw Unsupported(fmt::format("operand {} of the fused '{}' is missing", operand, fn));
  }
  StepBehind step{step_on(layer, "binary", fn), operand};
  step.spec.inputs.push_back(layer.inputs[operand]);
  return step;
}

/// A convolution's bias is one number a channel, a product's one a column, as numpy broadcasts it.
StepBehind bias(const LayerSpec& layer) {
  StepBehind step = binary(layer, "add", kBias);
  const std::size_t rank = layer.outputs[0].dims.size();
  if (layer.op == "conv" || layer.op == "conv_transpose") {
    TensorType& type = *step.spec.inputs[1];
    type.dims.resize(rank - 1, 1);
  }
  return step;
}

StepBehind activation(const LayerSpec& layer, const Epilogue& step) {
  StepBehind result{step_on(layer, "eltwise", step.fn), std::nullopt};
  result.spec.attributes["parameters"] = step.parameters;
  return result;
}

}  // namespace

SplitLayer split_layer(const LayerSpec& spec) {
  SplitLayer result{spec, {}};
  result.alone.inputs.resize(kBias);
  result.alone.epilogue.clear();
  if (spec.has_input(kBias)) {
    result.behind.push_back(bias(spec));
  }
  for (const Epilogue& step : spec.epilogue) {
    result.behind.push_back(step.operand ? binary(spec, step.fn, *step.operand)
                                         : activation(spec, step));
  }
  return result;
}

void append_behind(DevicePlan& plan,
                   const std::vector<StepBehind>& behind,
                   TensorLayout layout,
                   const KernelStep& kernel) {
  const std::size_t result = plan.outputs.at(0);
  for (const StepBehind& step : behind) {
    std::vector<std::size_t> buffers{result};
    if (step.operand) {
      buffers.push_back(*step.operand);
    }
    buffers.push_back(result);
    for (const KernelLaunch& launch : own_layer(step.spec, layout).launches) {
      plan.steps.push_back(kernel(launch, buffers));
    }
    plan.implementation += fmt::format("+plumb:{}", step.spec.text("fn"));
  }
}

std::vector<TensorLayout> input_layouts(const LayerSpec& spec,
                                        const std::vector<StepBehind>& behind,
                                        TensorLayout layout) {
  std::vector<TensorLayout> layouts(spec.inputs.size(), layout);
  for (const StepBehind& step : behind) {
    if (step.operand) {
      layouts[*step.operand] = own_layer(step.spec, layout).inputs.at(1);
    }
  }
  return layouts;
}

}  // namespace plumb::cuda
