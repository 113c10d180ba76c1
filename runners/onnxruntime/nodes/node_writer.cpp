// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/nodes/node_writer.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "harness/base/error.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::onnxruntime {
namespace {

/// The newest operators that ONNX Runtime 1.15 has all of.
constexpr std::int64_t kOpset = 18;
constexpr std::int64_t kFormat = 8;        // IR version of that opset
constexpr std::int64_t kNewerFormat = 10;  // of later ones

void set_value(onnx::AttributeProto& attribute, const NodeValue& given) {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::int64_t>) {
          attribute.set_type(onnx::AttributeProto::INT);
          attribute.set_i(value);
        } else if constexpr (std::is_same_v<Value, double>) {
          attribute.set_type(onnx::AttributeProto::FLOAT);
          attribute.set_f(static_cast<float>(value));
        } else if constexpr (std::is_same_v<Value, std::string>) {
          attribute.set_type(onnx::AttributeProto::STRING);
          attribute.set_s(value);
        } else if constexpr (std::is_same_v<Value, std::vector<std::int64_t>>) {
          attribute.set_type(onnx::AttributeProto::INTS);
          attribute.mutable_ints()->Add(value.begin(), value.end());
        } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
          attribute.set_type(onnx::AttributeProto::FLOATS);
          for (const double each : value) {
            attribute.add_floats(static_cast<float>(each));
          }
        } else {
          attribute.set_type(onnx::AttributeProto::STRINGS);
          for (const std::string& each : value) {
            attribute.add_strings(each);
          }
        }
      },
      given);
}

void trim(Names& names) {
  while (!names.empty() && names.back().empty()) {
    names.pop_back();
  }
}

}  // namespace

std::int32_t onnx_type(model::DataType type) {
  using Proto = onnx::TensorProto;
  constexpr std::array kTypes{
      std::pair{model::DataType::kF64, Proto::DOUBLE},
      std::pair{model::DataType::kF32, Proto::FLOAT},
      std::pair{model::DataType::kF16, Proto::FLOAT16},
      std::pair{model::DataType::kBf16, Proto::BFLOAT16},
      std::pair{model::DataType::kF8E4M3, Proto::FLOAT8E4M3FN},
      std::pair{model::DataType::kF8E5M2, Proto::FLOAT8E5M2},
      std::pair{model::DataType::kS64, Proto::INT64},
      std::pair{model::DataType::kS32, Proto::INT32},
      std::pair{model::DataType::kS16, Proto::INT16},
      std::pair{model::DataType::kS8, Proto::INT8},
      std::pair{model::DataType::kU64, Proto::UINT64},
      std::pair{model::DataType::kU32, Proto::UINT32},
      std::pair{model::DataType::kU16, Proto::UINT16},
      std::pair{model::DataType::kU8, Proto::UINT8},
      std::pair{model::DataType::kBool, Proto::BOOL},
  };
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) {
      return theirs;
    }
  }
  throw Error(Error::Kind::kUser, fmt::format("tensors of {} are not executed", to_text(type)));
}

void describe(onnx::ValueInfoProto& value, const std::string& name, const model::TensorType& type) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_type(type.dtype));
  auto& shape = *tensor.mutable_shape();
  for (const std::int64_t extent : type.dims) {
    shape.add_dim()->set_dim_value(extent);
  }
}

void describe(onnx::TensorProto& tensor, const std::string& name, const model::TensorType& type) {
  tensor.set_name(name);
  tensor.set_data_type(onnx_type(type.dtype));
  tensor.mutable_dims()->Add(type.dims.begin(), type.dims.end());
}

NodeWriter::NodeWriter() : model_(std::make_unique<onnx::ModelProto>()), opset_(kOpset) {
  model_->set_producer_name("plumbline");
  model_->mutable_graph()->set_name("model");
}

NodeWriter::~NodeWriter() = default;

void NodeWriter::begin(const std::string& name) {
  name_ = name;
  nodes_ = 0;
}

void NodeWriter::add(std::string_view op,
                     Names inputs,
                     Names outputs,
                     const NodeAttributes& attributes) {
  trim(inputs);
  trim(outputs);
  onnx::NodeProto& node = *model_->mutable_graph()->add_node();
  node.set_name(nodes_ == 0 ? name_ : fmt::format("{}/{}", name_, nodes_));
  ++nodes_;
  node.set_op_type(std::string(op));
  for (std::string& input : inputs) {
    node.add_input(std::move(input));
  }
  for (std::string& output : outputs) {
    node.add_output(std::move(output));
  }
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    set_value(attribute, value);
  }
}

std::string NodeWriter::add_value(std::string_view op,
                                  Names inputs,
                                  const NodeAttributes& attributes) {
  std::string output = fmt::format("t{}", names_++);
  add(op, std::move(inputs), Names{output}, attributes);
  return output;
}

std::string NodeWriter::add_constant(const model::Tensor& content) {
  std::string name = fmt::format("c{}", names_++);
  onnx::TensorProto& tensor = *model_->mutable_graph()->add_initializer();
  describe(tensor, name, content.type);
  tensor.set_raw_data(content.data.data(), content.data.size());
  return name;
}

std::string NodeWriter::integers(const std::vector<std::int64_t>& values) {
  model::Tensor content{{model::DataType::kS64, {static_cast<std::int64_t>(values.size())}, true},
                        std::vector<std::byte>(values.size() * sizeof(std::int64_t))};
  std::copy(values.begin(), values.end(), content.as<std::int64_t>());
  return add_constant(content);
}

std::string NodeWriter::reals(const std::vector<double>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return add_constant(engine::tensor_from({model::DataType::kF32, {count}, true}, values));
}

std::string NodeWriter::number(model::DataType type, double value) {
  return add_constant(engine::tensor_from({type, {}, true}, std::vector{value}));
}

std::string NodeWriter::zeros(const model::TensorType& type) {
  return add_constant(
      {type, std::vector<std::byte>(static_cast<std::size_t>(model::byte_size(type).value))});
}

void NodeWriter::require_opset(std::int64_t opset) {
  opset_ = std::max(opset_, opset);
}

void NodeWriter::add_input(const std::string& name, const model::TensorType& type) {
  describe(*model_->mutable_graph()->add_input(), name, type);
}

void NodeWriter::add_output(const std::string& name, const model::TensorType& type) {
  describe(*model_->mutable_graph()->add_output(), name, type);
}

std::string NodeWriter::finish() {
  model_->set_ir_version(opset_ > kOpset ? kNewerFormat : kFormat);
  model_->add_opset_import()->set_version(opset_);
  return model_->SerializeAsString();
}

std::string operand(const NodeWriter::Layer& layer, std::size_t index) {
  return index < layer.inputs.size() ? layer.inputs[index] : std::string();
}

}  // namespace plumb::onnxruntime
