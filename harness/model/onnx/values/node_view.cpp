// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/node_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "harness/base/error.hpp"

namespace plumb::model {
namespace {

/// Most dimensions of a tensor.
constexpr int kMaxRank = 64;

onnx::TypeProto type_proto_of(std::int32_t onnx_type, const auto& dims) {
  onnx::TypeProto proto;
  proto.mutable_tensor_type()->set_elem_type(onnx_type);
  onnx::TensorShapeProto* shape = proto.mutable_tensor_type()->mutable_shape();
  for (const std::int64_t extent : dims) {
    shape->add_dim()->set_dim_value(extent);
  }
  return proto;
}

const TensorType& type_of(const NodeView::Value* value, std::string_view role, std::size_t index) {
  if (value == nullptr) {
    throw Unsupported(fmt::format("{} {} is missing", role, index));
  }
  if (!value->type) {
    throw Unsupported(fmt::format("the shape or type of '{}' is not known", value->name));
  }
  return *value->type;
}

}  // namespace

void NodeView::Value::bind(const onnx::TensorProto& tensor, const std::filesystem::path& folder) {
  tensor_ = &tensor;
  folder_ = &folder;
  set_proto(type_proto_of(tensor.data_type(), tensor.dims()));
}

void NodeView::Value::bind(ConstantValue value) {
  decoded_ = true;
  known_ = std::move(value);
}

void NodeView::Value::set_proto(onnx::TypeProto type_proto) {
  proto = std::move(type_proto);
  type.reset();
  if (!proto.has_tensor_type() || !proto.tensor_type().has_shape()) {
    return;
  }
  const std::optional<DataType> dtype = data_type_of(proto.tensor_type().elem_type());
  if (!dtype) {
    return;
  }
  if (proto.tensor_type().shape().dim_size() > kMaxRank) {
    throw Error(Error::Kind::kUser,
                fmt::format("value '{}' has {} dimensions, and at most {} are read",
                            name.substr(0, 200),
                            proto.tensor_type().shape().dim_size(),
                            kMaxRank));
  }
  TensorType found;
  found.dtype = *dtype;
  found.constant = origin != Origin::kData;
  for (const onnx::TensorShapeProto::Dimension& dim : proto.tensor_type().shape().dim()) {
    if (!dim.has_dim_value()) {
      return;
    }
    if (dim.dim_value() < 0) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("value '{}' has a negative extent of {}: bind it with --batch or --dim",
                      name,
                      dim.dim_value()));
    }
    found.dims.push_back(dim.dim_value());
  }
  static_cast<void>(element_count(found));  // throws beyond 2^40 elements
  type = std::move(found);
}

const ConstantValue* NodeView::Value::known() {
  if (!decoded_) {
    decoded_ = true;
    if (tensor_ != nullptr) {
      known_ = decode(*tensor_, *folder_);
    }
  }
  return known_ ? &*known_ : nullptr;
}

const onnx::TensorProto* NodeView::Value::tensor() {
  if (tensor_ != nullptr && holds_data(*tensor_)) {
    return tensor_;
  }
  if (!encoded_) {
    if (known() == nullptr || known_->dtype == DataType::kF16 || known_->dtype == DataType::kBf16) {
      return nullptr;
    }
    encoded_ = encode(*known_);
  }
  return &*encoded_;
}

const TensorType& NodeView::input_type(std::size_t index) const {
  return type_of(input(index), "input", index);
}

const TensorType& NodeView::output_type(std::size_t index) const {
  return type_of(output(index), "output", index);
}

const ConstantValue& NodeView::known(std::size_t index) const {
  NodeView::Value* value = input(index);
  const ConstantValue* found = value == nullptr ? nullptr : value->known();
  if (found == nullptr) {
    throw Unsupported(fmt::format("input {} must be known before the run", index));
  }
  return *found;
}

std::vector<std::int64_t> NodeView::known_integers(std::size_t index) const {
  const ConstantValue& value = known(index);
  if (value.is_real()) {
    throw Unsupported(fmt::format("input {} must hold integers", index));
  }
  return value.integers;
}

const onnx::AttributeProto* NodeView::attribute(std::string_view name) const {
  for (const onnx::AttributeProto& attribute : node_->attribute()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

std::int64_t NodeView::integer(std::string_view name, std::int64_t otherwise) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? otherwise : found->i();
}

double NodeView::real(std::string_view name, double otherwise) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? otherwise : widen(found->f());
}

std::string NodeView::word(std::string_view name, std::string_view otherwise) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? std::string(otherwise) : found->s();
}

std::optional<std::vector<std::int64_t>> NodeView::integers(std::string_view name) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) {
    return std::nullopt;
  }
  return std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
}

std::vector<double> NodeView::reals(std::string_view name) const {
  std::vector<double> values;
  if (const onnx::AttributeProto* found = attribute(name)) {
    for (const float value : found->floats()) {
      values.push_back(widen(value));
    }
  }
  return values;
}

std::int64_t NodeView::positive_axis(std::int64_t axis, std::size_t rank, bool inclusive) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis > limit || (axis == limit && !inclusive)) {
    throw Unsupported(fmt::format("axis {} of a tensor of rank {}", axis, rank));
  }
  return axis < 0 ? axis + limit : axis;
}

double widen(float value) {
  if (!std::isfinite(value)) {
    return static_cast<double>(value);
  }
  std::array<char, 32> text{};
  const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), value);
  double result = 0.0;
  std::from_chars(text.data(), end, result);
  return result;
}

namespace {

using Origin = NodeView::Value::Origin;

constexpr std::int64_t kFewNumbers = 64;

constexpr std::array<std::string_view, 6> kRandom = {"RandomNormal",
                                                     "RandomNormalLike",
                                                     "RandomUniform",
                                                     "Bernoulli",
                                                     "RandomUniformLike",
                                                     "Multinomial"};

bool is_integer(DataType type) {
  return type == DataType::kS64 || type == DataType::kS32 || type == DataType::kBool;
}

bool is_large_weight(const NodeView::Value& value) {
  return value.origin == Origin::kWeight && value.type && is_floating(value.type->dtype) &&
         element_count(*value.type) > kFewNumbers;
}

}  // namespace

bool is_default_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

bool has_subgraph(const onnx::NodeProto& node) {
  return std::any_of(
      node.attribute().begin(), node.attribute().end(), [](const onnx::AttributeProto& attribute) {
        return attribute.has_g() || attribute.graphs_size() > 0;
      });
}

Origin find_origin(const NodeView& node) {
  if (is_default_domain(node.proto().domain())) {
    if (node.op() == "Shape" || node.op() == "Size") {
      return Origin::kShape;
    }
    if (std::find(kRandom.begin(), kRandom.end(), node.op()) != kRandom.end()) {
      return Origin::kData;
    }
  }
  if (has_subgraph(node.proto())) {
    return Origin::kData;  // a subgraph may read any value around it
  }
  bool shape = false;
  bool weight = false;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const NodeView::Value* input = node.input(i);
    if (input == nullptr) {
      continue;
    }
    if (input->origin == Origin::kData) {
      return Origin::kData;
    }
    shape = shape || input->origin == Origin::kShape;
    weight = weight || is_large_weight(*input);
  }
  return shape && !weight ? Origin::kShape : Origin::kWeight;
}

bool all_inputs_typed(const NodeView& node) {
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (node.has_input(i) && !node.input(i)->type) {
      return false;
    }
  }
  return true;
}

bool is_worth_evaluating(const NodeView& node) {
  const NodeView::Value* output = node.output(0);
  if (output == nullptr || output->origin == Origin::kData || !output->type) {
    return false;
  }
  return output->origin == Origin::kShape || is_integer(output->type->dtype) ||
         element_count(*output->type) <= kFewNumbers;
}

bool is_index_arithmetic(const NodeView& node) {
  for (std::size_t i = 0; i < node.output_count(); ++i) {
    const NodeView::Value* output = node.output(i);
    if (output != nullptr &&
        (!output->type || !is_integer(output->type->dtype) || output->type->dims.size() > 1)) {
      return false;
    }
  }
  return true;
}

}  // namespace plumb::model
