// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/split_layer.hpp"

#include <fmt/format.h>

#include <utility>

#include "runners/cuda/index_space.hpp"

namespace plumb::cuda {
namespace {

constexpr std::size_t kBias = 2;

OwnStep step_on_result(const LayerSpec& layer, std::string op, const std::string& fn) {
  const std::size_t result = layer.inputs.size();
  OwnStep step{{}, {result}, result};
  step.spec.op = std::move(op);
  step.spec.accumulate = layer.accumulate;
  step.spec.inputs = {layer.outputs.at(0)};
  step.spec.outputs = {layer.outputs[0]};
  step.spec.attributes["fn"] = fn;
  return step;
}

OwnStep binary(const LayerSpec& layer, const std::string& fn, std::size_t operand) {
  if (!layer.has_input(operand)) {
    throw Unsupported(fmt::format("operand {} of the fused '{}' is missing", operand, fn));
  }
  OwnStep step = step_on_result(layer, "binary", fn);
  step.inputs.push_back(operand);
  step.spec.inputs.push_back(layer.inputs[operand]);
  return step;
}

/// A convolution's bias is one number a channel, a product's is broadcast as numpy does.
OwnStep bias(const LayerSpec& layer) {
  OwnStep step = binary(layer, "add", kBias);
  if (layer.op == "conv" || layer.op == "conv_transpose") {
    step.spec.inputs[1]->dims.resize(layer.outputs[0].dims.size() - 1, 1);
  }
  return step;
}

OwnStep activation(const LayerSpec& layer, const Epilogue& step) {
  OwnStep result = step_on_result(layer, "eltwise", step.fn);
  result.spec.attributes["parameters"] = step.parameters;
  return result;
}

}  // namespace

SplitLayer split_layer(const LayerSpec& spec) {
  SplitLayer result{spec, {}};
  result.alone.inputs.resize(kBias);
  result.alone.epilogue.clear();
  const bool has_bias = spec.op == "conv" || spec.op == "conv_transpose" || spec.op == "gemm";
  if (has_bias && spec.has_input(kBias)) {
    result.behind.push_back(bias(spec));
  }
  for (const Epilogue& step : spec.epilogue) {
    result.behind.push_back(step.operand ? binary(spec, step.fn, *step.operand)
                                         : activation(spec, step));
  }
  return result;
}

}  // namespace plumb::cuda
