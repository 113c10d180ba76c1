// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/layers/layer_mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/model/key/spec_check.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {
namespace {

struct MappingRow {
  std::string_view op;
  MappedLayer (*map)(const NodeView&);
};

// Every ONNX operator that becomes a layer, in alphabetical order.
constexpr std::array kMappings = std::to_array<MappingRow>({
    {"Abs", map_activation},
    {"Add", map_binary},
    {"Affine", map_activation},
    {"And", map_binary},
    {"ArgMax", map_arg_reduce},
    {"ArgMin", map_arg_reduce},
    {"Attention", map_attention},
    {"AveragePool", map_pool},
    {"BatchNormalization", map_batch_norm},
    {"Cast", map_cast},
    {"CastLike", map_cast},
    {"Ceil", map_activation},
    {"Celu", map_activation},
    {"Clip", map_clip},
    {"Concat", map_concat},
    {"Conv", map_conv},
    {"ConvInteger", map_conv_integer},
    {"ConvTranspose", map_conv_transpose},
    {"Cos", map_activation},
    {"DepthToSpace", map_depth_to_space},
    {"DequantizeLinear", map_dequantize},
    {"Div", map_binary},
    {"Dropout", map_dropout},
    {"Elu", map_activation},
    {"Equal", map_binary},
    {"Erf", map_activation},
    {"Exp", map_activation},
    {"Expand", map_expand},
    {"Flatten", map_view},
    {"Floor", map_activation},
    {"GRU", map_gru},
    {"Gather", map_gather},
    {"Gelu", map_activation},
    {"Gemm", map_gemm},
    {"GlobalAveragePool", map_global_pool},
    {"GlobalLpPool", map_global_pool},
    {"GlobalMaxPool", map_global_pool},
    {"Greater", map_binary},
    {"GreaterOrEqual", map_binary},
    {"GroupNormalization", map_group_norm},
    {"HardSigmoid", map_activation},
    {"HardSwish", map_activation},
    {"Identity", map_view},
    {"ImageScaler", map_image_scaler},
    {"InstanceNormalization", map_instance_norm},
    {"IsNaN", map_activation},
    {"LRN", map_lrn},
    {"LSTM", map_lstm},
    {"LayerNormalization", map_layer_norm},
    {"LeakyRelu", map_activation},
    {"Less", map_binary},
    {"LessOrEqual", map_binary},
    {"Log", map_activation},
    {"LogSoftmax", map_softmax},
    {"LpPool", map_pool},
    {"MatMul", map_matmul},
    {"MatMulInteger", map_matmul_integer},
    {"Max", map_variadic},
    {"MaxPool", map_pool},
    {"Min", map_variadic},
    {"Mish", map_activation},
    {"Mod", map_binary},
    {"Mul", map_binary},
    {"Neg", map_activation},
    {"Not", map_activation},
    {"Or", map_binary},
    {"PRelu", map_prelu},
    {"Pad", map_pad},
    {"Pow", map_binary},
    {"QLinearConv", map_qlinear_conv},
    {"QLinearMatMul", map_qlinear_matmul},
    {"QuantizeLinear", map_quantize},
    {"RMSNormalization", map_rms_norm},
    {"RNN", map_rnn},
    {"Reciprocal", map_activation},
    {"ReduceL1", map_reduce},
    {"ReduceL2", map_reduce},
    {"ReduceLogSum", map_reduce},
    {"ReduceLogSumExp", map_reduce},
    {"ReduceMax", map_reduce},
    {"ReduceMean", map_reduce},
    {"ReduceMin", map_reduce},
    {"ReduceProd", map_reduce},
    {"ReduceSum", map_reduce},
    {"ReduceSumSquare", map_reduce},
    {"Relu", map_activation},
    {"Reshape", map_view},
    {"Resize", map_resize},
    {"Round", map_activation},
    {"Selu", map_activation},
    {"Sigmoid", map_activation},
    {"Sign", map_activation},
    {"Sin", map_activation},
    {"Slice", map_slice},
    {"Softmax", map_softmax},
    {"Softplus", map_activation},
    {"Softsign", map_activation},
    {"SpaceToDepth", map_space_to_depth},
    {"Split", map_split},
    {"Sqrt", map_activation},
    {"Squeeze", map_view},
    {"Sub", map_binary},
    {"Sum", map_variadic},
    {"Swish", map_activation},
    {"Tanh", map_activation},
    {"ThresholdedRelu", map_activation},
    {"Tile", map_tile},
    {"Transpose", map_transpose},
    {"Unsqueeze", map_view},
    {"Upsample", map_resize},
    {"Where", map_where},
    {"Xor", map_binary},
});

static_assert(std::is_sorted(kMappings.begin(),
                             kMappings.end(),
                             [](const MappingRow& a, const MappingRow& b) { return a.op < b.op; }));

const MappingRow* find_mapping(std::string_view op) {
  const auto* found = std::lower_bound(
      kMappings.begin(), kMappings.end(), op, [](const MappingRow& row, std::string_view name) {
        return row.op < name;
      });
  return found != kMappings.end() && found->op == op ? found : nullptr;
}

}  // namespace

bool is_mapped_operator(std::string_view op) {
  return find_mapping(op) != nullptr;
}

MappedLayer map_node(const NodeView& node) {
  const MappingRow* row = find_mapping(node.op());
  if (row == nullptr) {
    throw Unsupported(fmt::format("operator {} has no layer key", node.op()));
  }
  return row->map(node);
}

MappedLayer begin_layer(const NodeView& node,
                        std::string op,
                        std::vector<std::size_t> operands,
                        const std::vector<std::size_t>& outputs) {
  MappedLayer layer;
  layer.spec.op = std::move(op);
  layer.operands = std::move(operands);
  for (const std::size_t index : layer.operands) {
    if (node.has_input(index)) {
      layer.spec.inputs.emplace_back(node.input_type(index));
    } else {
      layer.spec.inputs.emplace_back(std::nullopt);
    }
  }
  while (!layer.spec.inputs.empty() && !layer.spec.inputs.back()) {
    layer.spec.inputs.pop_back();
    layer.operands.pop_back();
  }
  for (const std::size_t index : outputs) {
    layer.spec.outputs.push_back(node.output_type(index));
  }
  layer.spec.accumulate = accumulation_type(node.input_type(0).dtype);
  return layer;
}

MappedLayer view_layer(const NodeView& node) {
  return begin_layer(node, "view", {0});
}

namespace {

MappedLayer::Described named_layer(const NodeView& node) {
  const onnx::NodeProto& proto = node.proto();
  MappedLayer::Described result;
  result.layer.name = proto.name();
  for (const std::string& output : proto.output()) {
    result.layer.name = result.layer.name.empty() ? output : result.layer.name;
  }
  result.layer.onnx_op = is_default_domain(proto.domain())
                             ? proto.op_type()
                             : fmt::format("{}.{}", proto.domain(), proto.op_type());
  return result;
}

void append_other_inputs(const NodeView& node, std::vector<std::size_t>& inputs) {
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (std::find(inputs.begin(), inputs.end(), i) == inputs.end()) {
      inputs.push_back(i);
    }
  }
}

/// Returns whether an operator had another meaning before opset 7. It then broadcast by attribute,
/// or trained by default.
bool changed_in_opset_7(std::string_view op) {
  constexpr std::array<std::string_view, 20> kChanged = {"Add",  "And",     "BatchNormalization",
                                                         "Div",  "Dropout", "Equal",
                                                         "GRU",  "Gemm",    "Greater",
                                                         "LSTM", "Less",    "Mul",
                                                         "Or",   "PRelu",   "Pow",
                                                         "RNN",  "Sub",     "Upsample",
                                                         "Xor",  "Pad"};
  return std::find(kChanged.begin(), kChanged.end(), op) != kChanged.end();
}

MappedLayer map_or_throw(const NodeView& node, const std::string& problem) {
  if (!is_default_domain(node.proto().domain())) {
    throw Unsupported(fmt::format("operator {} of domain '{}'", node.op(), node.proto().domain()));
  }
  if (has_subgraph(node.proto())) {
    throw Unsupported(fmt::format("{} holds a subgraph: control flow is not measured", node.op()));
  }
  if (!is_mapped_operator(node.op())) {
    throw Unsupported(fmt::format("operator {} has no layer key", node.op()));
  }
  if (node.opset() < 7 && changed_in_opset_7(node.op())) {
    throw Unsupported(fmt::format(
        "{} of opset {}: convert the model to opset 7 or later", node.op(), node.opset()));
  }
  if (!problem.empty()) {
    throw Unsupported(problem);
  }
  MappedLayer mapped = map_node(node);
  for (TensorType& output : mapped.spec.outputs) {
    output.constant = false;  // where a folded node's is: a key says so of operands only
  }
  if (const std::optional<SpecProblem> wrong = check_spec(mapped.spec)) {
    throw Unsupported(fmt::format("{}: {}", wrong->field, wrong->text));
  }
  return mapped;
}

}  // namespace

MappedLayer::Described describe_node(const NodeView& node, const std::string& problem) {
  MappedLayer::Described result = named_layer(node);
  Layer& layer = result.layer;
  try {
    MappedLayer mapped = map_or_throw(node, problem);
    layer.role = mapped.spec.op == "view" ? Layer::Role::kView : Layer::Role::kCompute;
    layer.key = to_key(mapped.spec);
    layer.cost = compute_cost(mapped.spec);
    layer.spec = std::move(mapped.spec);
    result.inputs = std::move(mapped.operands);
  } catch (const Unsupported& unsupported) {
    layer.role = Layer::Role::kUnsupported;
    layer.reason = unsupported.what();
  }
  append_other_inputs(node, result.inputs);
  return result;
}

MappedLayer::Described describe_folded_node(const NodeView& node, const std::string& problem) {
  MappedLayer::Described result = named_layer(node);
  result.layer.role = Layer::Role::kFolded;
  try {
    MappedLayer mapped = map_or_throw(node, problem);
    result.layer.spec = std::move(mapped.spec);
    result.inputs = std::move(mapped.operands);
  } catch (const Unsupported&) {
    // A folded node costs nothing. Only an execution of the model needs to know how to compute it.
  }
  append_other_inputs(node, result.inputs);
  return result;
}

}  // namespace plumb::model
