// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/builtin/builtin_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/op_schema.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

struct Row {
  std::string_view op;
  BuiltinFunction write;
  bool any_layout;     ///< takes any layout of activations; else only channels first
  bool fuses = false;  ///< also executes fused steps
  std::vector<model::TensorType> (*scratch)(const model::LayerSpec&) =
      nullptr;  ///< null: it needs none
};

constexpr std::array kRows = std::to_array<Row>({
    {"adam", update_tensors, false, false, update_scratch},
    {"arg_reduce", row_arg_reduce, false},
    {"attention", attend, false},
    {"attention_backward", attend_backward, false},
    {"average_pool", pool_windows, true},
    {"average_pool_backward", pool_gradients, true},
    {"batch_norm", map_batch_norm, true},
    {"batch_norm_backward", row_batch_norm_gradient, true},
    {"batch_norm_training", row_batch_norm_training, true, true},
    {"binary", map_binary, true},
    {"cast", map_cast, true},
    {"concat", move_concat, true},
    {"conv_integer", convolve_integers, true, true},
    {"depth_to_space", move_depth_to_space, true},
    {"dequantize", map_dequantize, true},
    {"eltwise", map_eltwise, true},
    {"eltwise_backward", map_eltwise_gradient, true},
    {"expand", move_expand, false},
    {"gather", select_gather, false},
    {"gather_backward", gather_gradients, false},
    {"group_norm", row_channel_norm, true},
    {"gru", recur, false, false, recurrent_scratch},
    {"instance_norm", row_channel_norm, true},
    {"lamb", update_tensors, false, false, update_scratch},
    {"layer_norm", row_layer_norm, false},
    {"layer_norm_backward", row_layer_norm_gradient, false},
    {"loss_scale", adapt_scale, false, false, loss_scale_scratch},
    {"lp_pool", pool_windows, true},
    {"lrn", map_response, true},
    {"lstm", recur, false, false, recurrent_scratch},
    {"matmul_integer", multiply_integers, false, true},
    {"max", map_many, true},
    {"max_pool", pool_windows, true},
    {"max_pool_backward", pool_gradients, true},
    {"min", map_many, true},
    {"pad", select_pad, true},
    {"prelu", map_binary, true},
    {"quantize", map_quantize, true},
    {"reduce", row_reduce, true},
    {"resize", select_resize, true},
    {"rms_norm", row_layer_norm, false},
    {"rnn", recur, false, false, recurrent_scratch},
    {"sgd", update_tensors, false, false, update_scratch},
    {"slice", move_slice, true},
    {"softmax", row_softmax, false},
    {"softmax_backward", row_softmax_gradient, false},
    {"space_to_depth", move_space_to_depth, true},
    {"split", move_split, true},
    {"sum", map_many, true},
    {"tile", move_tile, false},
    {"transpose", move_transpose, false},
    {"view", move_view, false},
    {"where", map_where, true},
});

const Row* find_row(std::string_view op) {
  const auto found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.op == op; });
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace

BuiltinLayer::Operands::Operands(const model::LayerSpec& spec, TensorLayout layout)
    : spec_(spec), layout_(layout) {}

const model::TensorType& BuiltinLayer::Operands::input(std::size_t index) const {
  if (!spec_.has_input(index)) {
    throw Unsupported(fmt::format("operand {} is missing", index));
  }
  if (!spec_.inputs[index]->strides.empty()) {
    throw Unsupported(fmt::format("operand {} is not dense", index));
  }
  return *spec_.inputs[index];
}

const model::TensorType& BuiltinLayer::Operands::output(std::size_t index) const {
  return spec_.outputs.at(index);
}

/// Returns the layout of an operand or result. An activation has the result's rank, of three axes
/// or more, and is not constant. All else is a parameter, and dense.
TensorLayout BuiltinLayer::Operands::layout_of(const model::TensorType& type) const {
  const model::TensorType& y = spec_.outputs.at(0);
  const bool activation = !type.constant && type.dims.size() == y.dims.size() &&
                          type.dims.size() >= 3 && element_count(type) > 1;
  return activation ? layout_ : TensorLayout::kChannelsFirst;
}

Dimensions BuiltinLayer::Operands::input_strides(std::size_t index) const {
  return compute_strides(input(index).dims, layout_of(input(index)));
}

Dimensions BuiltinLayer::Operands::output_strides(std::size_t index) const {
  return compute_strides(output(index).dims, layout_of(output(index)));
}

std::vector<TensorLayout> BuiltinLayer::Operands::input_layouts() const {
  std::vector<TensorLayout> layouts;
  for (const auto& operand : spec_.inputs) {
    layouts.push_back(operand ? layout_of(*operand) : TensorLayout::kChannelsFirst);
  }
  return layouts;
}

std::vector<TensorLayout> BuiltinLayer::Operands::output_layouts() const {
  std::vector<TensorLayout> layouts;
  for (const model::TensorType& result : spec_.outputs) {
    layouts.push_back(layout_of(result));
  }
  return layouts;
}

bool has_builtin_kernel(std::string_view op, TensorLayout layout) {
  const Row* const row = find_row(op);
  return row != nullptr && (row->any_layout || layout == TensorLayout::kChannelsFirst);
}

BuiltinLayer builtin_layer(const model::LayerSpec& spec, TensorLayout layout) {
  if (!has_builtin_kernel(spec.op, layout)) {
    throw Unsupported(
        fmt::format("there is no built-in kernel for '{}' in {}", spec.op, to_text(layout)));
  }
  const Row& row = *find_row(spec.op);
  if (!spec.epilogue.empty() && !row.fuses) {
    throw Unsupported(fmt::format("'{}' with fused steps behind it", spec.op));
  }
  const BuiltinLayer::Operands operands(spec, layout);
  return {row.write(operands),
          operands.input_layouts(),
          operands.output_layouts(),
          row.scratch == nullptr ? std::vector<model::TensorType>{} : row.scratch(spec)};
}

BuiltinLayer::RowPartition::RowPartition(const Dimensions& extents,
                                         const std::vector<Dimensions>& strides,
                                         const std::vector<bool>& in_line)
    : row_strides_(strides.size()), line_strides_(strides.size()) {
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    (in_line[axis] ? line_extents_ : row_extents_).push_back(extents[axis]);
    for (std::size_t operand = 0; operand < strides.size(); ++operand) {
      (in_line[axis] ? line_strides_ : row_strides_)[operand].push_back(strides[operand][axis]);
    }
  }
}

kernels::RowShape BuiltinLayer::RowPartition::shape() const {
  kernels::RowShape shape{};
  shape.rows = joined_space(row_extents_, row_strides_);
  shape.line = joined_space(line_extents_, line_strides_);
  return shape;
}

std::vector<bool> from_axis(std::size_t rank, std::size_t first, std::size_t end) {
  std::vector<bool> in_line(rank, false);
  for (std::size_t axis = first; axis < std::min(end, rank); ++axis) {
    in_line[axis] = true;
  }
  return in_line;
}

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
                          const std::vector<BuiltinLayer::Step>& steps,
                          TensorLayout layout,
                          const KernelStep& kernel) {
  for (const BuiltinLayer::Step& step : steps) {
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
                                        const std::vector<BuiltinLayer::Step>& steps,
                                        TensorLayout layout) {
  std::vector<TensorLayout> layouts(layer.inputs.size(), layout);
  for (const BuiltinLayer::Step& step : steps) {
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

BuiltinLayer::Step step_on_result(const model::LayerSpec& layer,
                                  std::string op,
                                  const std::string& fn) {
  const std::size_t result = layer.inputs.size();
  BuiltinLayer::Step step{{}, {result}, result};
  step.spec.op = std::move(op);
  step.spec.accumulate = layer.accumulate;
  step.spec.inputs = {layer.outputs.at(0)};
  step.spec.outputs = {layer.outputs[0]};
  step.spec.attributes["fn"] = fn;
  return step;
}

BuiltinLayer::Step binary(const model::LayerSpec& layer,
                          const std::string& fn,
                          std::size_t operand) {
  if (!layer.has_input(operand)) {
    throw Unsupported(fmt::format("operand {} of the fused '{}' is missing", operand, fn));
  }
  BuiltinLayer::Step step = step_on_result(layer, "binary", fn);
  step.inputs.push_back(operand);
  step.spec.inputs.push_back(layer.inputs[operand]);
  return step;
}

/// Returns the step that adds the bias. A convolution's bias is one number a channel, a product's
/// is broadcast as numpy does.
BuiltinLayer::Step bias(const model::LayerSpec& layer) {
  BuiltinLayer::Step step = binary(layer, "add", kBias);
  if (layer.op == "conv" || layer.op == "conv_transpose") {
    step.spec.inputs[1]->dims.resize(layer.outputs[0].dims.size() - 1, 1);
  }
  return step;
}

BuiltinLayer::Step activation(const model::LayerSpec& layer, const model::Epilogue& step) {
  BuiltinLayer::Step result = step_on_result(layer, "eltwise", step.fn);
  result.spec.attributes["parameters"] = step.parameters;
  return result;
}

/// Returns the step that takes an activation's gradient at an operand of the layer.
BuiltinLayer::Step activation_gradient(const model::LayerSpec& layer,
                                       const model::Epilogue& step,
                                       std::string_view fn) {
  if (!step.operand || !layer.has_input(*step.operand)) {
    throw Unsupported(fmt::format("the operand of the fused '{}' is missing", step.fn));
  }
  BuiltinLayer::Step result = step_on_result(layer, "eltwise_backward", std::string(fn));
  result.spec.attributes["parameters"] = step.parameters;
  result.inputs.push_back(*step.operand);
  result.spec.inputs.push_back(layer.inputs[*step.operand]);
  return result;
}

BuiltinLayer::Step step_behind(const model::LayerSpec& layer, const model::Epilogue& step) {
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
BuiltinLayer::Step summed(const model::LayerSpec& layer,
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
  BuiltinLayer::Step step{{}, {buffer}, layer.inputs.size() + 1};
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
BuiltinLayer::Step bias_gradient(const model::LayerSpec& layer) {
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

BuiltinLayer::Split split_layer(const model::LayerSpec& spec) {
  BuiltinLayer::Split result{spec, {}};
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
