// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/shapes/shape_inference.hpp"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/limited_call.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {
namespace {

constexpr std::size_t kMaxEquation = 4096;

/// Returns whether a term is letters around at most one ellipsis.
bool is_term(std::string_view term) {
  if (const std::size_t dots = term.find("..."); dots != std::string_view::npos) {
    return is_term(term.substr(0, dots)) && term.find('.', dots + 3) == std::string_view::npos &&
           is_term(term.substr(dots + 3));
  }
  return std::all_of(term.begin(), term.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// Checks the grammar of an Einsum's equation: terms with commas between, and perhaps an arrow and
/// one more term. The library's rule waits for ever at any other character.
std::optional<std::string> refuse_einsum(const NodeView& node) {
  std::string equation = node.word("equation", "");
  if (equation.size() > kMaxEquation) {
    return fmt::format(
        "an equation of {} characters, where at most {} are read", equation.size(), kMaxEquation);
  }
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const std::size_t arrow = equation.find("->");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  bool valid = arrow == std::string::npos || is_term(std::string_view(equation).substr(arrow + 2));
  while (valid) {
    const std::size_t comma = left.find(',');
    valid = is_term(left.substr(0, comma));
    if (comma == std::string_view::npos) {
      break;
    }
    left.remove_prefix(comma + 1);
  }
  if (valid) {
    return std::nullopt;
  }
  return fmt::format(
      "the equation '{}' is not letters, commas, '->' and at most one '...' in a term",
      node.word("equation", "").substr(0, 200));
}

/// Checks that a Split has as many outputs as it says. The library's rule makes room for what it
/// says, and reads what it has.
std::optional<std::string> refuse_split(const NodeView& node) {
  const onnx::AttributeProto* const count = node.attribute("num_outputs");
  if (count == nullptr || count->i() == static_cast<std::int64_t>(node.output_count())) {
    return std::nullopt;
  }
  return fmt::format(
      "num_outputs is {}, and the node has {} outputs", count->i(), node.output_count());
}

/// Returns why the onnx library's rule for a node must not run on it. Empty: it may. The rules of
/// some operators trust attributes: they then never end, or take memory without limit.
std::optional<std::string> refuse_rule(const NodeView& node) {
  if (node.op() == "Einsum") {
    return refuse_einsum(node);
  }
  if (node.op() == "Split") {
    return refuse_split(node);
  }
  return std::nullopt;
}

/// View of one node for a rule of the onnx library.
class Context final : public onnx::InferenceContext {
 public:
  explicit Context(const NodeView& node) : node_(&node), outputs_(node.output_count()) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    return node_->attribute(name);
  }
  size_t getNumInputs() const override { return node_->input_count(); }
  const onnx::TypeProto* getInputType(size_t index) const override {
    const NodeView::Value* value = node_->input(index);
    return value == nullptr || value->proto.value_case() == onnx::TypeProto::VALUE_NOT_SET
               ? nullptr
               : &value->proto;
  }
  bool hasInput(size_t index) const override { return node_->has_input(index); }
  const onnx::TensorProto* getInputData(size_t index) const override {
    NodeView::Value* value = node_->input(index);
    return value == nullptr ? nullptr : value->tensor();
  }
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t index) override { return &outputs_.at(index); }
  bool hasOutput(size_t index) override { return node_->output(index) != nullptr; }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override {
    return nullptr;
  }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t) const override { return nullptr; }
  std::string getDisplayName() const override { return {}; }

  void store() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (NodeView::Value* output = node_->output(i)) {
        output->set_proto(std::move(outputs_[i]));
      }
    }
  }

 private:
  const NodeView* node_;
  std::vector<onnx::TypeProto> outputs_;
};

// Operators whose output is like their first input, where the library has no rule or lacks the
// operator.
constexpr std::array<std::string_view, 7> kLikeInput = {"Affine",
                                                        "GroupNormalization",
                                                        "ImageScaler",
                                                        "MeanVarianceNormalization",
                                                        "ParametricSoftplus",
                                                        "Scale",
                                                        "ScaledTanh"};

bool is_default_domain(const NodeView& node) {
  return node.proto().domain().empty() || node.proto().domain() == "ai.onnx";
}

const onnx::OpSchema* schema_of(const NodeView& node) {
  const std::string domain = is_default_domain(node) ? std::string() : node.proto().domain();
  const auto version = static_cast<int>(node.opset());
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op(), version, domain);
  if (schema != nullptr && !schema->has_type_and_shape_inference_function()) {
    // Version 12 of these two operators has no rule. Their strict counterparts have the same
    // shapes.
    if (node.op() == "GreaterOrEqual") {
      return onnx::OpSchemaRegistry::Schema("Greater", version, domain);
    }
    if (node.op() == "LessOrEqual") {
      return onnx::OpSchemaRegistry::Schema("Less", version, domain);
    }
  }
  return schema;
}

}  // namespace

std::optional<std::string> infer_outputs(const NodeView& node) {
  const onnx::OpSchema* schema = schema_of(node);
  if (schema != nullptr && schema->has_type_and_shape_inference_function()) {
    if (is_default_domain(node)) {
      if (std::optional<std::string> problem = refuse_rule(node)) {
        return problem;
      }
    }
    Context context(node);
    try {
      const LimitedCall call(fmt::format(
          "the onnx library's rule of {} for node '{}'", node.op(), node.proto().name()));
      schema->GetTypeAndShapeInferenceFunction()(context);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return error.what();
    }
    context.store();
  }
  if (is_default_domain(node) && node.has_input(0) && node.has_output(0) && !node.output(0)->type) {
    for (const std::string_view op : kLikeInput) {
      if (op == node.op()) {
        node.output(0)->set_proto(node.input(0)->proto);
      }
    }
  }
  return std::nullopt;
}

void follow_batch(const NodeView& node, std::int64_t file_batch, std::int64_t batch) {
  if (node.op() != "Reshape" || !is_default_domain(node) || !node.has_input(1) ||
      !node.input(0)->type || !node.output(0)->type ||
      node.output(0)->origin != NodeView::Value::Origin::kData) {
    return;
  }
  const ConstantValue* target = node.input(1)->known();
  const TensorType& input = *node.input(0)->type;
  if (target == nullptr || target->integers.empty() || target->integers[0] != file_batch ||
      input.dims.empty() || input.dims[0] != batch || batch == 0 || element_count(input) == 0) {
    return;
  }
  std::vector<std::int64_t> dims = node.output(0)->type->dims;
  if (dims.size() != target->integers.size()) {
    return;
  }
  dims[0] = batch;
  TensorType others = {.dtype = input.dtype, .dims = {}, .constant = false, .strides = {}};
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (target->integers[i] == -1) {
      open = i;
    } else {
      others.dims.push_back(dims[i]);
    }
  }
  if (open && element_count(others) > 0) {
    dims[*open] = element_count(input) / element_count(others);
  }
  onnx::TypeProto type = node.output(0)->proto;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    type.mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(static_cast<int>(i))
        ->set_dim_value(dims[i]);
  }
  node.output(0)->set_proto(std::move(type));
}

}  // namespace plumb::model
