// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/layers/node_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/model/key/spec_check.hpp"
#include "harness/model/onnx/layers/layer_mapping.hpp"
#include "harness/model/onnx/values/value_origin.hpp"

namespace plumb::model {
namespace {

NodeLayer named_layer(const NodeView& node) {
  const onnx::NodeProto& proto = node.proto();
  NodeLayer result;
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

NodeLayer describe_node(const NodeView& node, const std::string& problem) {
  NodeLayer result = named_layer(node);
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

NodeLayer describe_folded_node(const NodeView& node, const std::string& problem) {
  NodeLayer result = named_layer(node);
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
