// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/model_value.hpp"

#include <fmt/format.h>

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

}  // namespace

void ModelValue::bind(const onnx::TensorProto& tensor, const std::filesystem::path& folder) {
  tensor_ = &tensor;
  folder_ = &folder;
  set_proto(type_proto_of(tensor.data_type(), tensor.dims()));
}

void ModelValue::bind(ConstantValue value) {
  decoded_ = true;
  known_ = std::move(value);
}

void ModelValue::set_proto(onnx::TypeProto type_proto) {
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

const ConstantValue* ModelValue::known() {
  if (!decoded_) {
    decoded_ = true;
    if (tensor_ != nullptr) {
      known_ = decode(*tensor_, *folder_);
    }
  }
  return known_ ? &*known_ : nullptr;
}

const onnx::TensorProto* ModelValue::tensor() {
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

}  // namespace plumb::model
