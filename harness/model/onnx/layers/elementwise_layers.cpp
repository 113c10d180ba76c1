// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "harness/model/key/tensor.hpp"
#include "harness/model/onnx/layers/layer_mapping.hpp"

namespace plumb::model {
namespace {

struct Parameter {
  std::string_view name;  ///< of the ONNX attribute
  double otherwise = 0.0;
};

struct ActivationRow {
  std::string_view op;
  std::string_view fn;
  std::array<Parameter, 2> parameters{};
};

constexpr std::array kActivations = std::to_array<ActivationRow>({
    {"Relu", "relu"},
    {"LeakyRelu", "leaky_relu", {{{"alpha", 0.01}}}},
    {"Elu", "elu", {{{"alpha", 1.0}}}},
    {"Selu", "selu", {{{"alpha", 1.6732632}, {"gamma", 1.050701}}}},
    {"Celu", "celu", {{{"alpha", 1.0}}}},
    {"Sigmoid", "sigmoid"},
    {"Tanh", "tanh"},
    {"Softplus", "softplus"},
    {"Softsign", "softsign"},
    {"HardSigmoid", "hard_sigmoid", {{{"alpha", 0.2}, {"beta", 0.5}}}},
    {"HardSwish", "hard_swish"},
    {"Mish", "mish"},
    {"ThresholdedRelu", "thresholded_relu", {{{"alpha", 1.0}}}},
    {"Exp", "exp"},
    {"Log", "log"},
    {"Sqrt", "sqrt"},
    {"Reciprocal", "reciprocal"},
    {"Abs", "abs"},
    {"Neg", "neg"},
    {"Sign", "sign"},
    {"Floor", "floor"},
    {"Ceil", "ceil"},
    {"Round", "round"},
    {"Erf", "erf"},
    {"Sin", "sin"},
    {"Cos", "cos"},
    {"Not", "not"},
    {"IsNaN", "is_nan"},
    {"Affine", "linear", {{{"alpha", 1.0}, {"beta", 0.0}}}},
});

struct BinaryRow {
  std::string_view op;
  std::string_view fn;
};

constexpr std::array kBinaries = std::to_array<BinaryRow>({
    {"Add", "add"},
    {"Sub", "sub"},
    {"Mul", "mul"},
    {"Div", "div"},
    {"Max", "max"},
    {"Min", "min"},
    {"Pow", "pow"},
    {"Sum", "add"},
    {"Equal", "equal"},
    {"Greater", "greater"},
    {"Less", "less"},
    {"GreaterOrEqual", "greater_equal"},
    {"LessOrEqual", "less_equal"},
    {"And", "and"},
    {"Or", "or"},
    {"Xor", "xor"},
});

MappedLayer eltwise_layer(const NodeView& node,
                          std::string_view fn,
                          std::vector<double> parameters) {
  MappedLayer layer = begin_layer(node, "eltwise", {0});
  layer.spec.attributes["fn"] = std::string(fn);
  layer.spec.attributes["parameters"] = std::move(parameters);
  return layer;
}

MappedLayer binary_layer(const NodeView& node, std::string_view fn) {
  MappedLayer layer = begin_layer(node, "binary", {0, 1});
  layer.spec.attributes["fn"] = std::string(fn);
  return layer;
}

/// Reads a bound of Clip-11 and later. An absent one is infinite.
double bound_input(const NodeView& node, std::size_t index, double otherwise) {
  if (!node.has_input(index)) {
    return otherwise;
  }
  const ConstantValue& value = node.known(index);
  if (value.size() != 1) {
    throw Unsupported(
        fmt::format("input {} holds {} elements where one is needed", index, value.size()));
  }
  return value.dtype == DataType::kF32 ? widen(static_cast<float>(value.number(0)))
                                       : value.number(0);
}

}  // namespace

MappedLayer map_activation(const NodeView& node) {
  if (node.op() == "Gelu") {
    const std::string approximate = node.word("approximate", "none");
    if (approximate != "none" && approximate != "tanh") {
      throw Unsupported(fmt::format("approximate '{}'", approximate));
    }
    return eltwise_layer(node, approximate == "tanh" ? "gelu_tanh" : "gelu_erf", {});
  }
  if (node.op() == "Swish") {
    if (node.real("alpha", 1.0) != 1.0) {
      throw Unsupported(fmt::format("Swish with alpha {}", node.real("alpha", 1.0)));
    }
    return eltwise_layer(node, "silu", {});
  }
  for (const ActivationRow& row : kActivations) {
    if (row.op == node.op()) {
      std::vector<double> parameters;
      for (const Parameter& parameter : row.parameters) {
        if (!parameter.name.empty()) {
          parameters.push_back(node.real(parameter.name, parameter.otherwise));
        }
      }
      return eltwise_layer(node, row.fn, std::move(parameters));
    }
  }
  throw Unsupported(fmt::format("operator {} is not an element-wise function", node.op()));
}

MappedLayer map_image_scaler(const NodeView& node) {
  const std::vector<double> bias = node.reals("bias");
  if (std::any_of(bias.begin(), bias.end(), [&](double b) { return b != bias.front(); })) {
    throw Unsupported("ImageScaler with a different bias for each channel");
  }
  return eltwise_layer(
      node, "linear", {node.real("scale", 1.0), bias.empty() ? 0.0 : bias.front()});
}

MappedLayer map_clip(const NodeView& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kLargestFloat = 3.4028234e+38;  // Clip-6 writes "no bound" as the largest float
  if (node.opset() >= 11) {
    return eltwise_layer(
        node, "clip", {bound_input(node, 1, -kInfinity), bound_input(node, 2, kInfinity)});
  }
  double low = node.real("min", -kInfinity);
  if (low <= -kLargestFloat) {
    low = -kInfinity;
  }
  double high = node.real("max", kInfinity);
  if (high >= kLargestFloat) {
    high = kInfinity;
  }
  return eltwise_layer(node, "clip", {low, high});
}

MappedLayer map_prelu(const NodeView& node) {
  return begin_layer(node, "prelu", {0, 1});
}

MappedLayer map_binary(const NodeView& node) {
  if (node.op() == "Mod") {
    return binary_layer(node, node.integer("fmod", 0) != 0 ? "fmod" : "mod");
  }
  for (const BinaryRow& row : kBinaries) {
    if (row.op == node.op()) {
      return binary_layer(node, row.fn);
    }
  }
  throw Unsupported(fmt::format("operator {} is not a binary function", node.op()));
}

MappedLayer map_variadic(const NodeView& node) {
  if (node.input_count() == 1) {
    return view_layer(node);
  }
  if (node.input_count() == 2) {
    return map_binary(node);
  }
  std::vector<std::size_t> operands;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    operands.push_back(i);
    if (node.dims(i) != node.output_type(0).dims) {
      throw Unsupported(fmt::format("a {} of three or more operands that broadcasts", node.op()));
    }
  }
  const char* const op = node.op() == "Max" ? "max" : (node.op() == "Min" ? "min" : "sum");
  return begin_layer(node, op, std::move(operands));
}

MappedLayer map_where(const NodeView& node) {
  MappedLayer layer = begin_layer(node, "where", {0, 1, 2});
  layer.spec.accumulate = is_floating(node.input_type(1).dtype) ? DataType::kF32 : DataType::kS32;
  return layer;
}

MappedLayer map_cast(const NodeView& node) {
  if (node.input_type(0).dtype == node.output_type(0).dtype) {
    return view_layer(node);
  }
  if (is_f8(node.output_type(0).dtype) && node.integer("saturate", 1) == 0) {
    throw Unsupported("saturate 0: here, numbers beyond the largest 8-bit float become that float");
  }
  return begin_layer(node, "cast", {0});
}

namespace {

/// Returns the position of a zero point among the node's inputs. A zero point that is known to be
/// zero counts as absent, which means the same.
std::size_t zero_point_at(const NodeView& node, std::size_t index) {
  const std::size_t nowhere = node.input_count();
  if (!node.has_input(index)) {
    return nowhere;
  }
  const ConstantValue* const known = node.input(index)->known();
  if (known == nullptr || known->is_real()) {
    return index;
  }
  const bool zero = std::all_of(
      known->integers.begin(), known->integers.end(), [](std::int64_t n) { return n == 0; });
  return zero ? nowhere : index;
}

/// Begins `quantize` or `dequantize`: x, scale, zero point.
MappedLayer grid_layer(const NodeView& node, std::string op) {
  if (node.integer("block_size", 0) != 0) {
    throw Unsupported(fmt::format("scales of blocks of {}", node.integer("block_size", 0)));
  }
  const TensorType& scale = node.input_type(1);
  MappedLayer layer = begin_layer(node, std::move(op), {0, 1, zero_point_at(node, 2)});
  layer.spec.attributes["axis"] =
      element_count(scale) == 1
          ? 0  // equal work, one key
          : NodeView::positive_axis(node.integer("axis", 1), node.dims(0).size());
  return layer;
}

}  // namespace

MappedLayer map_quantize(const NodeView& node) {
  return grid_layer(node, "quantize");
}

MappedLayer map_dequantize(const NodeView& node) {
  return grid_layer(node, "dequantize");
}

MappedLayer map_conv_integer(const NodeView& node) {
  const std::size_t nowhere = node.input_count();
  return convolution_layer(
      node, "conv_integer", {0, 1, nowhere, zero_point_at(node, 2), zero_point_at(node, 3)}, 1);
}

MappedLayer map_qlinear_conv(const NodeView& node) {
  return convolution_layer(
      node,
      "conv_integer",
      {0, 3, 8, zero_point_at(node, 2), zero_point_at(node, 5), 1, 4, 6, zero_point_at(node, 7)},
      3);
}

MappedLayer map_matmul_integer(const NodeView& node) {
  return begin_layer(
      node, "matmul_integer", {0, 1, zero_point_at(node, 2), zero_point_at(node, 3)});
}

MappedLayer map_qlinear_matmul(const NodeView& node) {
  return begin_layer(
      node,
      "matmul_integer",
      {0, 3, zero_point_at(node, 2), zero_point_at(node, 5), 1, 4, 6, zero_point_at(node, 7)});
}

}  // namespace plumb::model
