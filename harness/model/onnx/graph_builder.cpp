// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/graph_builder.hpp"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <unordered_set>

#include "harness/base/error.hpp"
#include "harness/base/units.hpp"
#include "harness/model/onnx/layers/layer_mapping.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/shapes/shape_inference.hpp"
#include "harness/model/onnx/values/constant_arithmetic.hpp"
#include "harness/model/onnx/values/constant_value.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {
namespace {

using Origin = NodeView::Value::Origin;

constexpr std::int64_t kOldestOpset = 1;

std::string label(const onnx::NodeProto& node) {
  const std::string& name =
      node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  return fmt::format("node '{}' ({})", name.substr(0, 200), node.op_type().substr(0, 200));
}

/// Returns the value of a constant of one element. Patterns of several nodes are recognised by such
/// values.
std::optional<double> read_scalar(NodeView::Value& value) {
  if (value.origin == Origin::kData || !value.type || element_count(*value.type) != 1) {
    return std::nullopt;
  }
  const ConstantValue* known = value.known();
  if (known == nullptr) {
    return std::nullopt;
  }
  return known->dtype == DataType::kF32 ? widen(static_cast<float>(known->number(0)))
                                        : known->number(0);
}

/// Type of a value as far as it is known, and how far that is.
struct KnownType {
  TensorType type;
  bool dtype = false;
  bool shape = false;
};

KnownType known_type(const NodeView::Value& value) {
  if (value.type) {
    return {*value.type, true, true};
  }
  KnownType known;
  if (!value.proto.has_tensor_type()) {
    return known;
  }
  const onnx::TypeProto::Tensor& tensor = value.proto.tensor_type();
  if (const std::optional<DataType> dtype = data_type_of(tensor.elem_type())) {
    known.type.dtype = *dtype;
    known.dtype = true;
  }
  const auto& dims = tensor.shape().dim();
  known.shape = tensor.has_shape() && std::all_of(dims.begin(), dims.end(), [](const auto& dim) {
                  return dim.has_dim_value() && dim.dim_value() >= 0;
                });
  if (known.shape) {
    for (const auto& dim : dims) {
      known.type.dims.push_back(dim.dim_value());
    }
  }
  return known;
}

[[noreturn]] void fail(const std::string& text) {
  throw Error(Error::Kind::kUser, text);
}

}  // namespace

GraphBuilder::GraphBuilder(const onnx::ModelProto& model,
                           const ReadOptions& options,
                           std::filesystem::path folder)
    : model_(&model), options_(&options), folder_(std::move(folder)), binder_(options) {}

Graph GraphBuilder::build() {
  if (!model_->has_graph()) {
    fail("the model holds no graph: it is not an ONNX model, or it is cut off");
  }
  check_size(model_->graph());
  graph_.name = model_->graph().name();
  const std::vector<int> order = order_nodes(model_->graph());
  read_opsets();
  read_weights();
  read_inputs();
  read_declared_types();
  mark_used_values();
  for (const int index : order) {
    const onnx::NodeProto& node = model_->graph().node(index);
    try {
      add_node(node);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", label(node), error.what()));
    }
  }
  finish_outputs();
  count_parameters();
  return std::move(graph_);
}

std::map<ValueId, Tensor> GraphBuilder::constants() {
  std::map<ValueId, Tensor> constants;
  for (NodeView::Value& value : values_) {
    if (!value.id || value.producer || value.origin == Origin::kData) {
      continue;
    }
    const onnx::TensorProto* const tensor = value.tensor();
    if (std::optional<Tensor> found = tensor ? load_tensor(*tensor, folder_) : std::nullopt) {
      constants.emplace(*value.id, std::move(*found));
    }
  }
  return constants;
}

void GraphBuilder::read_opsets() {
  for (const onnx::OperatorSetIdProto& import : model_->opset_import()) {
    opsets_[is_default_domain(import.domain()) ? std::string() : import.domain()] =
        import.version();
  }
  graph_.opset = opset_of("");
  const std::int64_t newest =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
  if (opsets_.contains("") && (graph_.opset < kOldestOpset || graph_.opset > newest)) {
    fail(
        fmt::format("opset {} is outside {} to {}, the supported range: convert the model with "
                    "onnx.version_converter",
                    graph_.opset,
                    kOldestOpset,
                    newest));
  }
}

std::int64_t GraphBuilder::opset_of(const std::string& domain) const {
  const auto found = opsets_.find(is_default_domain(domain) ? std::string() : domain);
  return found == opsets_.end() ? 0 : found->second;
}

NodeView::Value& GraphBuilder::new_value(const std::string& name) {
  NodeView::Value& value = values_.emplace_back();
  value.name = name;
  if (!by_name_.emplace(name, &value).second) {
    fail(fmt::format("value '{}' is defined twice", name.substr(0, 200)));
  }
  return value;
}

NodeView::Value* GraphBuilder::find_value(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void GraphBuilder::read_weights() {
  const onnx::GraphProto& graph = model_->graph();
  by_name_.reserve(static_cast<std::size_t>(graph.initializer_size() + 2 * graph.node_size() +
                                            graph.input_size()));
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    NodeView::Value& value = new_value(tensor.name());
    value.origin = Origin::kWeight;
    value.holds_parameters = true;
    value.bind(tensor, folder_);
    if (value.type) {
      check_stored_size(tensor, *value.type, folder_);
    }
  }
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
    NodeView::Value& value = new_value(sparse.values().name());
    value.origin = Origin::kWeight;
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(sparse.values().data_type());
    for (const std::int64_t extent : sparse.dims()) {
      type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
    }
    value.set_proto(std::move(type));
  }
}

void GraphBuilder::read_inputs() {
  for (const onnx::ValueInfoProto& input : model_->graph().input()) {
    const NodeView::Value* weight = find_value(input.name());
    if (weight != nullptr && weight->origin == Origin::kWeight) {
      continue;  // IR 3 lists the weights among the inputs
    }
    NodeView::Value& value = new_value(input.name());
    onnx::TypeProto type = input.type();
    binder_.bind_input(input.name(), type);
    value.set_proto(std::move(type));
    graph_.inputs.push_back(id_of(value));
  }
  binder_.check_all_used();
  graph_.notes = binder_.notes();
}

void GraphBuilder::read_declared_types() {
  if (binder_.replaced_batch()) {
    return;  // fixed shapes in the file are those of another batch
  }
  for (const auto* list : {&model_->graph().value_info(), &model_->graph().output()}) {
    for (const onnx::ValueInfoProto& info : *list) {
      declared_.emplace(info.name(), &info.type());
    }
  }
}

void GraphBuilder::mark_used_values() {
  std::unordered_set<std::string_view> read;
  for (const onnx::NodeProto& node : model_->graph().node()) {
    read.insert(node.input().begin(), node.input().end());
  }
  for (const onnx::ValueInfoProto& output : model_->graph().output()) {
    read.insert(output.name());
  }
  for (const onnx::NodeProto& node : model_->graph().node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) {
        new_value(output).used = read.contains(output);
      }
    }
  }
}

NodeView GraphBuilder::make_view(const onnx::NodeProto& proto) {
  std::vector<NodeView::Value*> inputs;
  for (const std::string& name : proto.input()) {
    inputs.push_back(name.empty() ? nullptr : find_value(name));
    if (!name.empty() && inputs.back() == nullptr) {
      fail(fmt::format("reads '{}', which nothing produces", name.substr(0, 200)));
    }
  }
  std::vector<NodeView::Value*> outputs;
  for (const std::string& name : proto.output()) {
    outputs.push_back(name.empty() ? nullptr : find_value(name));
  }
  return {proto, opset_of(proto.domain()), std::move(inputs), std::move(outputs)};
}

void GraphBuilder::add_node(const onnx::NodeProto& proto) {
  const NodeView node = make_view(proto);
  const bool standard = is_default_domain(proto.domain());
  if (standard && !opsets_.contains(std::string())) {
    fail("the model does not say which opset it uses");
  }
  const Origin origin = find_origin(node);
  for (std::size_t i = 0; i < node.output_count(); ++i) {
    if (NodeView::Value* output = node.output(i)) {
      output->origin = origin;
    }
  }
  if (standard && proto.op_type() == "Constant") {
    bind_constant(node);
    return;
  }
  std::string problem;
  if (!has_subgraph(proto)) {
    problem = infer_outputs(node).value_or("");
    if (const std::optional<std::int64_t> replaced = binder_.replaced_batch()) {
      follow_batch(node, *replaced, *options_->batch);
    }
  }
  if (!problem.empty() && standard && is_mapped_operator(proto.op_type()) &&
      all_inputs_typed(node)) {
    fail(problem);
  }
  if (standard && is_worth_evaluating(node)) {
    if (std::optional<ConstantValue> value = evaluate(node)) {
      count_computed(value->size());
      node.output(0)->bind(std::move(*value));
    }
  }
  fall_back_on_declared_types(node);
  if (standard && proto.op_type() == "ConstantOfShape" && origin != Origin::kData) {
    if (NodeView::Value* output = node.output(0)) {
      output->holds_parameters = true;
    }
    return;
  }
  if (origin == Origin::kData) {
    append_layer(node, describe_node(node, problem));
  } else if (origin == Origin::kWeight && !is_index_arithmetic(node)) {
    append_layer(node, describe_folded_node(node, problem));
    folded_.push_back(node);
  }
}

void GraphBuilder::count_computed(std::size_t elements) {
  computed_elements_ += elements;
  if (computed_elements_ > kMaxComputedElements) {
    fail(
        fmt::format("the constants that the nodes before it compute have more than {} elements in "
                    "all: export the model with its constants folded",
                    kMaxComputedElements));
  }
}

void GraphBuilder::bind_constant(const NodeView& node) {
  NodeView::Value* output = node.output(0);
  if (output == nullptr) {
    return;
  }
  if (const onnx::AttributeProto* value = node.attribute("value")) {
    output->bind(value->t(), folder_);
  } else {
    if (const std::optional<std::string> problem = infer_outputs(node)) {
      fail(*problem);
    }
    if (std::optional<ConstantValue> listed = listed_constant(node.proto())) {
      output->bind(std::move(*listed));
    }
  }
  output->holds_parameters = output->type && element_count(*output->type) > 1;
}

void GraphBuilder::fall_back_on_declared_types(const NodeView& node) {
  for (std::size_t i = 0; i < node.output_count(); ++i) {
    NodeView::Value* output = node.output(i);
    if (output == nullptr || output->type) {
      continue;
    }
    const auto found = declared_.find(output->name);
    if (found != declared_.end() && found->second->value_case() != onnx::TypeProto::VALUE_NOT_SET) {
      onnx::TypeProto type = *found->second;
      binder_.bind_value(type);
      output->set_proto(std::move(type));
    }
  }
}

ValueId GraphBuilder::id_of(NodeView::Value& value) {
  if (!value.id) {
    value.id = graph_.values.size();
    const KnownType known = known_type(value);
    graph_.values.push_back(Value{.name = value.name,
                                  .type = known.type,
                                  .producer = value.producer,
                                  .scalar = read_scalar(value),
                                  .type_known = known.dtype,
                                  .shape_known = known.shape});
  }
  return *value.id;
}

void GraphBuilder::append_layer(const NodeView& node, MappedLayer::Described described) {
  Layer& layer = described.layer;
  const LayerId id = graph_.layers.size();
  for (const std::size_t index : described.inputs) {
    NodeView::Value* input = node.input(index);
    layer.inputs.push_back(input == nullptr ? std::nullopt : std::optional(id_of(*input)));
  }
  for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
    NodeView::Value* const operand = node.input(described.inputs[i]);
    if (operand != nullptr && layer.role != Layer::Role::kFolded) {
      operand->used_as_weight = operand->origin != Origin::kData;
    }
  }
  for (std::size_t i = 0; i < node.output_count(); ++i) {
    if (node.has_output(i)) {
      node.output(i)->producer = id;
      layer.outputs.push_back(id_of(*node.output(i)));
    }
  }
  graph_.layers.push_back(std::move(layer));
}

void GraphBuilder::finish_outputs() {
  for (const onnx::ValueInfoProto& output : model_->graph().output()) {
    NodeView::Value* value = find_value(output.name());
    if (value == nullptr) {
      fail(fmt::format("no node produces output '{}'", output.name().substr(0, 200)));
    }
    graph_.outputs.push_back(id_of(*value));
  }
}

void GraphBuilder::count_parameters() {
  for (auto node = folded_.rbegin(); node != folded_.rend(); ++node) {
    const NodeView::Value* output = node->output(0);
    if (output == nullptr || !output->used_as_weight || !output->type) {
      continue;
    }
    for (std::size_t i = 0; i < node->input_count(); ++i) {
      NodeView::Value* input = node->input(i);
      if (input != nullptr && input->type && input->type->dtype == output->type->dtype) {
        input->used_as_weight = true;
      }
    }
  }
  for (const NodeView::Value& value : values_) {
    if (value.holds_parameters && value.used_as_weight && value.type) {
      graph_.parameters = saturating_sum(graph_.parameters, element_count(*value.type));
      graph_.weight_bytes.value =
          saturating_sum(graph_.weight_bytes.value, byte_size(*value.type).value);
    }
  }
}

Graph read_graph(onnx::ModelProto model,
                 const ReadOptions& options,
                 const std::filesystem::path& folder) {
  return GraphBuilder(model, options, folder).build();
}

Graph graph_of_bytes(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) {
    fail(fmt::format("{} bytes are not an ONNX model", bytes.size()));
  }
  return read_graph(std::move(model));
}

LoadedModel load_model(const onnx::ModelProto& model,
                       const ReadOptions& options,
                       const std::filesystem::path& folder) {
  GraphBuilder builder(model, options, folder);
  LoadedModel loaded;
  loaded.graph = builder.build();
  loaded.constants = builder.constants();
  return loaded;
}

Graph read_model(const std::filesystem::path& path, const ReadOptions& options) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  try {
    return read_graph(load_onnx_file(path), options, folder);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("model '{}': {}", path.string(), error.what()));
  }
}

std::vector<ReadOptions::InputAxis> read_first_axes(const std::filesystem::path& path) {
  const onnx::ModelProto model = load_onnx_file(path);
  const auto& weights = model.graph().initializer();
  std::vector<ReadOptions::InputAxis> axes;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (std::any_of(weights.begin(), weights.end(), [&](const onnx::TensorProto& weight) {
          return weight.name() == input.name();
        })) {
      continue;  // IR 3 lists the weights among the inputs
    }
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      const std::string place = fmt::format("{}.{}", input.name(), axes.size());
      axes.push_back({dim.dim_param().empty() ? place : dim.dim_param(),
                      dim.has_dim_value() ? std::optional(dim.dim_value()) : std::nullopt});
    }
    break;
  }
  return axes;
}

}  // namespace plumb::model
