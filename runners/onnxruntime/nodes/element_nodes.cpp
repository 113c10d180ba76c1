// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string_view>

#include "harness/base/error.hpp"
#include "runners/onnxruntime/nodes/node_writer.hpp"

namespace plumb::onnxruntime {
namespace {

/// Function that is one operator of ONNX, whose attributes are its parameters.
struct OperatorOf {
  std::string_view fn;
  std::string_view op;
  std::array<std::string_view, 2> parameters{};
};

constexpr std::array kFunctions = std::to_array<OperatorOf>({
    {"abs", "Abs"},
    {"ceil", "Ceil"},
    {"celu", "Celu", {"alpha"}},
    {"cos", "Cos"},
    {"elu", "Elu", {"alpha"}},
    {"erf", "Erf"},
    {"exp", "Exp"},
    {"floor", "Floor"},
    {"hard_sigmoid", "HardSigmoid", {"alpha", "beta"}},
    {"hard_swish", "HardSwish"},
    {"is_nan", "IsNaN"},
    {"leaky_relu", "LeakyRelu", {"alpha"}},
    {"log", "Log"},
    {"mish", "Mish"},
    {"neg", "Neg"},
    {"not", "Not"},
    {"reciprocal", "Reciprocal"},
    {"relu", "Relu"},
    {"round", "Round"},
    {"selu", "Selu", {"alpha", "gamma"}},
    {"sigmoid", "Sigmoid"},
    {"sign", "Sign"},
    {"sin", "Sin"},
    {"softplus", "Softplus"},
    {"softsign", "Softsign"},
    {"sqrt", "Sqrt"},
    {"tanh", "Tanh"},
    {"thresholded_relu", "ThresholdedRelu", {"alpha"}},
});

constexpr std::array kBinaryFunctions = std::to_array<OperatorOf>({
    {"add", "Add"},
    {"and", "And"},
    {"div", "Div"},
    {"equal", "Equal"},
    {"greater", "Greater"},
    {"greater_equal", "GreaterOrEqual"},
    {"less", "Less"},
    {"less_equal", "LessOrEqual"},
    {"max", "Max"},
    {"min", "Min"},
    {"mod", "Mod"},
    {"mul", "Mul"},
    {"or", "Or"},
    {"pow", "Pow"},
    {"sub", "Sub"},
    {"xor", "Xor"},
});

constexpr std::array kReductions = std::to_array<OperatorOf>({
    {"l1", "ReduceL1"},
    {"l2", "ReduceL2"},
    {"log_sum", "ReduceLogSum"},
    {"log_sum_exp", "ReduceLogSumExp"},
    {"max", "ReduceMax"},
    {"mean", "ReduceMean"},
    {"min", "ReduceMin"},
    {"prod", "ReduceProd"},
    {"sum", "ReduceSum"},
    {"sum_square", "ReduceSumSquare"},
});

const OperatorOf* find(std::span<const OperatorOf> table, std::string_view fn) {
  const auto at = std::find_if(
      table.begin(), table.end(), [&](const OperatorOf& each) { return each.fn == fn; });
  return at == table.end() ? nullptr : &*at;
}

/// Writes GELU as exporters do, which the runtime recognises: with erf, or its form with tanh.
void write_gelu(bool with_erf,
                model::DataType type,
                const std::string& x,
                const std::string& result,
                NodeWriter& writer) {
  std::string inner;
  if (with_erf) {
    inner = writer.add_value(
        "Erf", {writer.add_value("Div", {x, writer.number(type, std::numbers::sqrt2)})});
  } else {
    const std::string cube = writer.add_value("Pow", {x, writer.number(type, 3.0)});
    const std::string sum = writer.add_value(
        "Add", {x, writer.add_value("Mul", {cube, writer.number(type, 0.044715)})});
    const double slope = std::sqrt(2.0 * std::numbers::inv_pi);
    inner = writer.add_value("Tanh", {writer.add_value("Mul", {sum, writer.number(type, slope)})});
  }
  const std::string whole =
      writer.add_value("Mul", {x, writer.add_value("Add", {inner, writer.number(type, 1.0)})});
  writer.add("Mul", {whole, writer.number(type, 0.5)}, {result});
}

}  // namespace

void write_function(const std::string& fn,
                    std::span<const double> parameters,
                    model::DataType type,
                    const std::string& x,
                    const std::string& result,
                    NodeWriter& writer) {
  if (const OperatorOf* const found = find(kFunctions, fn)) {
    NodeAttributes attributes;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      attributes.emplace_back(found->parameters.at(i), parameters[i]);
    }
    writer.add(found->op, {x}, {result}, attributes);
  } else if (fn == "clip") {
    const auto bound = [&](double value) {
      return std::isfinite(value) ? writer.number(type, value) : std::string();
    };
    const std::string low = bound(parameters[0]);
    writer.add("Clip", {x, low, bound(parameters[1])}, {result});
  } else if (fn == "linear") {
    const std::string scaled = writer.add_value("Mul", {x, writer.number(type, parameters[0])});
    writer.add("Add", {scaled, writer.number(type, parameters[1])}, {result});
  } else if (fn == "silu") {
    writer.add("Mul", {x, writer.add_value("Sigmoid", {x})}, {result});
  } else if (fn == "gelu_erf" || fn == "gelu_tanh") {
    write_gelu(fn == "gelu_erf", type, x, result, writer);
  } else {
    throw Error(Error::Kind::kUser, fmt::format("no ONNX operator computes '{}'", fn));
  }
}

void write_binary_function(const std::string& fn,
                           const Names& operands,
                           const std::string& result,
                           NodeWriter& writer) {
  if (fn == "fmod") {
    writer.add("Mod", operands, {result}, {{"fmod", std::int64_t{1}}});
    return;
  }
  const OperatorOf* const found = find(kBinaryFunctions, fn);
  if (found == nullptr) {
    throw Error(Error::Kind::kUser, fmt::format("no ONNX operator computes '{}'", fn));
  }
  writer.add(found->op, operands, {result});
}

void write_eltwise(const NodeWriter::Layer& layer, NodeWriter& writer) {
  write_function(layer.spec.text("fn"),
                 layer.spec.reals("parameters"),
                 layer.spec.outputs[0].dtype,
                 layer.inputs[0],
                 layer.outputs[0],
                 writer);
}

void write_binary(const NodeWriter::Layer& layer, NodeWriter& writer) {
  write_binary_function(
      layer.spec.text("fn"), {layer.inputs[0], layer.inputs[1]}, layer.outputs[0], writer);
}

void write_softmax(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const std::string op = layer.spec.integer("log") != 0 ? "LogSoftmax" : "Softmax";
  const std::int64_t axis = layer.spec.integer("axis");
  if (layer.spec.integer("coerce") == 0) {
    writer.add(op, {layer.inputs[0]}, layer.outputs, {{"axis", axis}});
    return;
  }
  const std::vector<std::int64_t>& dims = layer.spec.outputs[0].dims;
  const auto middle = dims.begin() + axis;
  const std::int64_t rows =
      std::accumulate(dims.begin(), middle, std::int64_t{1}, std::multiplies<>());
  const std::int64_t columns =
      std::accumulate(middle, dims.end(), std::int64_t{1}, std::multiplies<>());
  const std::string flat =
      writer.add_value("Reshape", {layer.inputs[0], writer.integers({rows, columns})});
  const std::string result = writer.add_value(op, {flat}, {{"axis", std::int64_t{1}}});
  writer.add("Reshape", {result, writer.integers(dims)}, layer.outputs);
}

void write_reduce(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const std::vector<std::int64_t>& axes = layer.spec.integers("axes");
  const OperatorOf* const found = find(kReductions, layer.spec.text("fn"));
  PLUMB_CHECK(found != nullptr);
  writer.add(found->op,
             {layer.inputs[0], axes.empty() ? std::string() : writer.integers(axes)},
             layer.outputs,
             {{"keepdims", layer.spec.integer("keepdims")}});
}

void write_arg_reduce(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add(layer.spec.text("fn") == "argmax" ? "ArgMax" : "ArgMin",
             {layer.inputs[0]},
             layer.outputs,
             {{"axis", layer.spec.integer("axis")},
              {"keepdims", layer.spec.integer("keepdims")},
              {"select_last_index", layer.spec.integer("select_last")}});
}

namespace {

/// Returns the extents of a view as they stand for other shapes, too: 0 for an extent that is the
/// input's, and -1 for the only other one.
std::vector<std::int64_t> open_dims(const std::vector<std::int64_t>& input,
                                    const std::vector<std::int64_t>& output) {
  std::vector<std::int64_t> dims = output;
  for (std::size_t axis = 0; axis < std::min(input.size(), dims.size()); ++axis) {
    dims[axis] = dims[axis] == input[axis] ? 0 : dims[axis];
  }
  const auto others = [](std::int64_t extent) { return extent != 0; };
  if (std::count_if(dims.begin(), dims.end(), others) == 1) {
    *std::find_if(dims.begin(), dims.end(), others) = -1;
  }
  return dims;
}

}  // namespace

void write_concat(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add("Concat", layer.inputs, layer.outputs, {{"axis", layer.spec.integer("axis")}});
}

void write_split(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const std::int64_t axis = layer.spec.integer("axis");
  std::vector<std::int64_t> sizes;
  for (const model::TensorType& output : layer.spec.outputs) {
    sizes.push_back(output.dims[static_cast<std::size_t>(axis)]);
  }
  writer.add("Split", {layer.inputs[0], writer.integers(sizes)}, layer.outputs, {{"axis", axis}});
}

void write_slice(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const std::vector<std::int64_t>& axes = layer.spec.integers("axes");
  const std::vector<std::int64_t>& starts = layer.spec.integers("starts");
  const std::vector<std::int64_t>& steps = layer.spec.integers("steps");
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = layer.spec.outputs[0].dims[static_cast<std::size_t>(axes[i])];
    const std::int64_t end = starts[i] + steps[i] * extent;
    // A negative end would count from the other side.
    ends.push_back(end < 0 ? std::numeric_limits<std::int64_t>::min() : end);
  }
  Names inputs{layer.inputs[0]};
  for (const auto& list : {starts, ends, axes, steps}) {
    inputs.push_back(writer.integers(list));
  }
  writer.add("Slice", inputs, layer.outputs);
}

void write_pad(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const std::string& mode = layer.spec.text("mode");
  if (mode == "wrap") {
    writer.require_opset(19);
  }
  const std::string pads = writer.integers(layer.spec.integers("pads"));
  writer.add(
      "Pad",
      {layer.inputs[0], pads, writer.number(layer.spec.outputs[0].dtype, layer.spec.real("value"))},
      layer.outputs,
      {{"mode", mode}});
}

void write_transpose(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add("Transpose", layer.inputs, layer.outputs, {{"perm", layer.spec.integers("perm")}});
}

void write_view(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const std::vector<std::int64_t>& dims = layer.spec.outputs[0].dims;
  if (dims == layer.spec.inputs[0]->dims) {
    writer.add("Identity", {layer.inputs[0]}, layer.outputs);
    return;
  }
  // Without `allowzero` an extent of 0 stands for the input's.
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  writer.add("Reshape",
             {layer.inputs[0],
              writer.integers(empty ? dims : open_dims(layer.spec.inputs[0]->dims, dims))},
             layer.outputs,
             empty ? NodeAttributes{{"allowzero", std::int64_t{1}}} : NodeAttributes{});
}

void write_gather(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add("Gather", layer.inputs, layer.outputs, {{"axis", layer.spec.integer("axis")}});
}

void write_resize(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  const std::vector<double>& scales = spec.reals("scales");
  const std::vector<std::int64_t>& from = spec.inputs[0]->dims;
  const std::vector<std::int64_t>& to = spec.outputs[0].dims;
  bool exact = true;  // the scales give the extents
  bool whole = true;  // … without a rest
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const float scaled = static_cast<float>(from[i]) * static_cast<float>(scales[i]);
    whole = whole && scaled == static_cast<float>(to[i]);
    exact = exact && static_cast<std::int64_t>(std::floor(scaled)) == to[i];
  }
  if (spec.text("coordinates") == "align_corners" && !whole) {
    throw Error(Error::Kind::kUser,
                "the runtime aligns corners to another extent where a scale gives a fraction");
  }
  if (spec.text("coordinates") == "half_pixel_symmetric") {
    writer.require_opset(19);
  }
  Names inputs{layer.inputs[0], "", "", ""};
  if (exact) {
    inputs[2] = writer.reals(scales);
  } else {
    inputs[3] = writer.integers(to);
  }
  writer.add("Resize",
             inputs,
             layer.outputs,
             {{"antialias", spec.integer("antialias")},
              {"coordinate_transformation_mode", spec.text("coordinates")},
              {"cubic_coeff_a", spec.real("cubic_a")},
              {"exclude_outside", spec.integer("exclude_outside")},
              {"mode", spec.text("mode")},
              {"nearest_mode", spec.text("nearest_mode")}});
}

void write_cast(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const model::DataType to = layer.spec.outputs[0].dtype;
  if (is_f8(to) || is_f8(layer.spec.inputs[0]->dtype)) {
    writer.require_opset(19);
  }
  writer.add("Cast", layer.inputs, layer.outputs, {{"to", std::int64_t{onnx_type(to)}}});
}

void write_expand(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add(
      "Expand", {layer.inputs[0], writer.integers(layer.spec.outputs[0].dims)}, layer.outputs);
}

void write_tile(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add(
      "Tile", {layer.inputs[0], writer.integers(layer.spec.integers("repeats"))}, layer.outputs);
}

void write_depth_to_space(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const std::string mode = layer.spec.text("mode") == "crd" ? "CRD" : "DCR";
  writer.add("DepthToSpace",
             layer.inputs,
             layer.outputs,
             {{"blocksize", layer.spec.integer("block")}, {"mode", mode}});
}

void write_space_to_depth(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add(
      "SpaceToDepth", layer.inputs, layer.outputs, {{"blocksize", layer.spec.integer("block")}});
}

}  // namespace plumb::onnxruntime
