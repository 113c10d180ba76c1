// SPDX-License-Identifier: Apache-2.0
#include "suites/zoo/graph_builder.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "harness/base/error.hpp"

namespace plumb::zoo {
namespace {

/// The oldest IR whose initializers need not be graph inputs as well.
constexpr std::int64_t kIrVersion = 4;

onnx::TensorProto::DataType onnx_type(model::DataType type) {
  PLUMB_CHECK(type == model::DataType::kF32 || type == model::DataType::kS64);
  return type == model::DataType::kF32 ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64;
}

void describe(onnx::ValueInfoProto& value,
              const std::string& name,
              const Shape& shape,
              model::DataType type) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_type(type));
  auto& dims = *tensor.mutable_shape();
  for (const std::int64_t extent : shape) {
    dims.add_dim()->set_dim_value(extent);
  }
}

void set_value(onnx::AttributeProto& attribute, std::int64_t value) {
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}
void set_value(onnx::AttributeProto& attribute, float value) {
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}
void set_value(onnx::AttributeProto& attribute, const std::string& value) {
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}
void set_value(onnx::AttributeProto& attribute, const std::vector<std::int64_t>& values) {
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) {
    attribute.add_ints(value);
  }
}

void set_value(onnx::AttributeProto& attribute, const std::vector<float>& values) {
  attribute.set_type(onnx::AttributeProto::FLOATS);
  for (const float value : values) {
    attribute.add_floats(value);
  }
}

std::string lower(std::string_view op) {
  std::string text(op);
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') {
      letter = static_cast<char>(letter - 'A' + 'a');
    }
  }
  return text;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string_view model_name, std::int64_t opset)
    : opset_(opset), model_(std::make_unique<onnx::ModelProto>()) {
  model_->set_ir_version(opset < 15 ? kIrVersion : 8);
  model_->set_producer_name("plumbline");
  auto& import = *model_->add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  model_->mutable_graph()->set_name(std::string(model_name));
}

GraphBuilder::~GraphBuilder() = default;

Wire GraphBuilder::input(std::string_view name, Shape shape, model::DataType type) {
  describe(*model_->mutable_graph()->add_input(), std::string(name), shape, type);
  return {*this, std::string(name), std::move(shape)};
}

Wire GraphBuilder::weight(std::string_view name, Shape shape) {
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
  }
  return {*this, std::string(name), std::move(shape)};
}

Wire GraphBuilder::integers(std::string_view name,
                            const std::vector<std::int64_t>& values,
                            Shape shape) {
  PLUMB_CHECK(element_count(shape) == static_cast<std::int64_t>(values.size()));
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
  }
  for (const std::int64_t value : values) {
    tensor.add_int64_data(value);
  }
  return {*this, std::string(name), std::move(shape)};
}

Wire GraphBuilder::scalar(std::string_view name, float value) {
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(std::string(name));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(value);
  return {*this, std::string(name), {}};
}

Wire GraphBuilder::reals(std::string_view name, const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  Wire wire = weight(name, {count});
  auto& tensor = *model_->mutable_graph()->mutable_initializer()->rbegin();
  tensor.mutable_float_data()->Add(values.begin(), values.end());
  return wire;
}

Wire GraphBuilder::node(std::string_view op,
                        const std::vector<Wire>& inputs,
                        Shape output,
                        const std::vector<NodeAttribute>& attributes,
                        std::string name,
                        const std::vector<std::string>& more_outputs) {
  if (name.empty()) {
    name = next_name(op, {});
  }
  auto& node = *model_->mutable_graph()->add_node();
  node.set_op_type(std::string(op));
  node.set_name(name);
  for (const Wire& input : inputs) {
    node.add_input(input.name());
  }
  const std::string result = name + "_out";
  node.add_output(result);
  for (const std::string& suffix : more_outputs) {
    node.add_output(name + suffix);
  }
  for (const auto& [key, value] : attributes) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(key);
    std::visit([&attribute](const auto& held) { set_value(attribute, held); }, value);
  }
  return {*this, result, std::move(output)};
}

Wire GraphBuilder::concat(const std::vector<Wire>& inputs, std::int64_t axis) {
  Shape out = inputs.front().shape();
  const auto at = static_cast<std::size_t>(axis);
  out[at] = 0;
  for (const Wire& input : inputs) {
    out[at] += input.shape()[at];
  }
  return node("Concat", inputs, std::move(out), {{"axis", axis}});
}

void GraphBuilder::output(const Wire& wire, model::DataType type) {
  describe(*model_->mutable_graph()->add_output(), wire.name(), wire.shape(), type);
}

void GraphBuilder::enter(std::string prefix) {
  prefix_ = std::move(prefix);
}

std::string GraphBuilder::next_name(std::string_view op, std::string_view label) {
  if (!label.empty()) {
    return prefix_ + std::string(label);
  }
  const std::string stem = prefix_ + lower(op);
  return fmt::format("{}{}", stem, numbers_[stem]++);
}

onnx::ModelProto GraphBuilder::finish() {
  return std::move(*model_);
}

}  // namespace plumb::zoo
