// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/builtin_step.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/op_schema.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

ExecutionPlan builtin_plan(const model::LayerSpec& spec,
                           const BuiltinLayer& layer,
                           const KernelStep& kernel) {
  ExecutionPlan plan = begin_plan(spec, layer.inputs, layer.outputs);
  plan.implementation = fmt::format("plumb:{}", spec.op);
  for (const model::TensorType& type : layer.scratch) {
    add_scratch(plan, {type});
  }
  append_launches(plan.steps, layer.launches, plan, kernel);
  return plan;
}

void append_builtin_steps(ExecutionPlan& plan,
                          const std::vector<BuiltinStep>& steps,
                          TensorLayout layout,
                          const KernelStep& kernel) {
  for (const BuiltinStep& step : steps) {
    std::vector<std::size_t> buffers = step.inputs;
    buffers.push_back(step.output);
    const BuiltinLayer layer = builtin_layer(step.spec, layout);
    PLUMB_CHECK(layer.scratch.empty());
    for (const KernelLaunch& launch : layer.launches) {
      plan.steps.push_back(kernel(launch, buffers));
    }
    const bool named = step.spec.op == "eltwise" || step.spec.op == "binary";
    plan.implementation += fmt::format("+plumb:{}", named ? step.spec.text("fn") : step.spec.op);
  }
}

std::vector<TensorLayout> input_layouts(const model::LayerSpec& layer,
                                        const std::vector<BuiltinStep>& steps,
                                        TensorLayout layout) {
  std::vector<TensorLayout> layouts(layer.inputs.size(), layout);
  for (const BuiltinStep& step : steps) {
    const std::vector<TensorLayout> wanted = builtin_layer(step.spec, layout).inputs;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < layouts.size()) {
        layouts[step.inputs[i]] = wanted.at(i);
      }
    }
  }
  return layouts;
}

namespace {

constexpr std::size_t kBias = 2;

BuiltinStep step_on_result(const model::LayerSpec& layer, std::string op, const std::string& fn) {
  const std::size_t result = layer.inputs.size();
  BuiltinStep step{{}, {result}, result};
  step.spec.op = std::move(op);
  step.spec.accumulate = layer.accumulate;
  step.spec.inputs = {layer.outputs.at(0)};
  step.spec.outputs = {layer.outputs[0]};
  step.spec.attributes["fn"] = fn;
  return step;
}

BuiltinStep binary(const model::LayerSpec& layer, const std::string& fn, std::size_t operand) {
  if (!layer.has_input(operand)) {
    throw Unsupported(fmt::format("operand {} of the fused '{}' is missing", operand, fn));
  }
  BuiltinStep step = step_on_result(layer, "binary", fn);
  step.inputs.push_back(operand);
  step.spec.inputs.push_back(layer.inputs[operand]);
  return step;
}

/// Returns the step that adds the bias. A convolution's bias is one number a channel, a product's
/// is broadcast as numpy does.
BuiltinStep bias(const model::LayerSpec& layer) {
  BuiltinStep step = binary(layer, "add", kBias);
  if (layer.op == "conv" || layer.op == "conv_transpose") {
    step.spec.inputs[1]->dims.resize(layer.outputs[0].dims.size() - 1, 1);
  }
  return step;
}

BuiltinStep activation(const model::LayerSpec& layer, const model::Epilogue& step) {
  BuiltinStep result = step_on_result(layer, "eltwise", step.fn);
  result.spec.attributes["parameters"] = step.parameters;
  return result;
}

/// Returns the step that takes an activation's gradient at an operand of the layer.
BuiltinStep activation_gradient(const model::LayerSpec& layer,
                                const model::Epilogue& step,
                                std::string_view fn) {
  if (!step.operand || !layer.has_input(*step.operand)) {
    throw Unsupported(fmt::format("the operand of the fused '{}' is missing", step.fn));
  }
  BuiltinStep result = step_on_result(layer, "eltwise_backward", std::string(fn));
  result.spec.attributes["parameters"] = step.parameters;
  result.inputs.push_back(*step.operand);
  result.spec.inputs.push_back(layer.inputs[*step.operand]);
  return result;
}

BuiltinStep step_behind(const model::LayerSpec& layer, const model::Epilogue& step) {
  if (step.fn == model::kBitMask) {
    throw Unsupported(
        fmt::format("'{}' apart from the product: cuBLASLt alone has it, fused", model::kBitMask));
  }
  if (const std::optional<std::string_view> fn = model::function_of_gradient(step.fn)) {
    return activation_gradient(layer, step, *fn);
  }
  return step.operand ? binary(layer, step.fn, *step.operand) : activation(layer, step);
}

/// Returns the step that sums a tensor of the plan along some axes, which keep an extent of 1.
BuiltinStep summed(const model::LayerSpec& layer,
                   const model::TensorType& from,
                   std::size_t buffer,
                   const std::vector<std::int64_t>& axes) {
  model::TensorType sums = layer.outputs.at(1);
  if (sums.dtype != from.dtype) {
    throw Unsupported("a bias' gradient of another type than what it adds up");
  }
  sums.dims = from.dims;
  for (const std::int64_t axis : axes) {
    sums.dims.at(static_cast<std::size_t>(axis)) = 1;
  }
  BuiltinStep step{{}, {buffer}, layer.inputs.size() + 1};
  step.spec.op = "reduce";
  step.spec.accumulate = layer.accumulate;
  step.spec.inputs = {from};
  step.spec.outputs = {std::move(sums)};
  step.spec.attributes = {
      {"axes", axes}, {"fn", std::string("sum")}, {"keepdims", std::int64_t{1}}};
  return step;
}

/// Returns the step that sums what the bias was added to. Of convolutions it sums the result's
/// gradient over all axes but the channels, of products what the key says.
BuiltinStep bias_gradient(const model::LayerSpec& layer) {
  if (layer.op == "gemm_bias_gradient") {
    const std::string& of = layer.text("of");
    if (of == "y") {
      return summed(layer, layer.outputs.at(0), layer.inputs.size(), {0});
    }
    const std::size_t factor = of == "a" ? 0 : 1;
    const bool transposed = layer.integer(of == "a" ? "trans_a" : "trans_b") != 0;
    return summed(
        layer, layer.inputs.at(factor).value(), factor, {transposed == (of == "a") ? 0 : 1});
  }
  const model::TensorType& gradient = layer.inputs.at(0).value();
  std::vector<std::int64_t> axes{0};
  for (std::size_t axis = 2; axis < gradient.dims.size(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  return summed(layer, gradient, 0, axes);
}

}  // namespace

SplitLayer split_layer(const model::LayerSpec& spec) {
  SplitLayer result{spec, {}};
  result.alone.inputs.resize(kBias);
  result.alone.outputs.resize(1);
  result.alone.epilogue.clear();
  const bool has_bias = spec.op == "conv" || spec.op == "conv_transpose" || spec.op == "gemm";
  if (has_bias && spec.has_input(kBias)) {
    result.behind.push_back(bias(spec));
  }
  for (const model::Epilogue& step : spec.epilogue) {
    result.behind.push_back(step_behind(spec, step));
  }
  if (spec.outputs.size() > 1) {
    result.behind.push_back(bias_gradient(spec));
  }
  return result;
}

}  // namespace plumb::cuda
