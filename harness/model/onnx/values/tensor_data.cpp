// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/tensor_data.hpp"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <string>

#include "harness/model/onnx/values/constant_value.hpp"

namespace plumb::model {
namespace {

using onnx::TensorProto;

/// Appends each element of a typed field as a T, in native byte order.
template <typename T, typename Field>
void append_as(const Field& field, std::vector<std::byte>& data) {
  data.resize(static_cast<std::size_t>(field.size()) * sizeof(T));
  std::byte* at = data.data();
  for (const auto element : field) {
    const T narrow = static_cast<T>(element);
    std::memcpy(at, &narrow, sizeof(T));
    at += sizeof(T);
  }
}

/// Reads the field in which ONNX stores elements of the type (onnx.proto, TensorProto).
void read_field(const TensorProto& tensor, DataType type, std::vector<std::byte>& data) {
  switch (type) {
    case DataType::kF32:
      return append_as<float>(tensor.float_data(), data);
    case DataType::kF64:
      return append_as<double>(tensor.double_data(), data);
    case DataType::kS64:
      return append_as<std::int64_t>(tensor.int64_data(), data);
    case DataType::kU64:
      return append_as<std::uint64_t>(tensor.uint64_data(), data);
    case DataType::kU32:
      return append_as<std::uint32_t>(tensor.uint64_data(), data);
    case DataType::kS32:
      return append_as<std::int32_t>(tensor.int32_data(), data);
    default:
      break;
  }
  if (element_bytes(type) == 2) {
    append_as<std::uint16_t>(tensor.int32_data(), data);
  } else {
    append_as<std::uint8_t>(tensor.int32_data(), data);
  }
}

void copy_bytes(const std::string& bytes, std::vector<std::byte>& data) {
  data.resize(bytes.size());
  if (!bytes.empty()) {
    std::memcpy(data.data(), bytes.data(), bytes.size());
  }
}

}  // namespace

std::optional<Tensor> load_tensor(const TensorProto& tensor, const std::filesystem::path& folder) {
  const std::optional<DataType> dtype = data_type_of(tensor.data_type());
  if (!dtype || element_bytes(*dtype) == 0) {
    return std::nullopt;
  }
  Tensor result;
  result.type.dtype = *dtype;
  result.type.dims.assign(tensor.dims().begin(), tensor.dims().end());
  result.type.constant = true;
  const bool external = tensor.data_location() == TensorProto::EXTERNAL;
  if (!external && !holds_data(tensor) && element_count(result.type) > 0) {
    return std::nullopt;
  }
  check_stored_size(tensor, result.type, folder);
  if (external) {
    const auto bytes = static_cast<std::uint64_t>(byte_size(result.type).value);
    copy_bytes(read_external_data(locate_external_data(tensor, folder, bytes)), result.data);
  } else if (!tensor.raw_data().empty()) {
    copy_bytes(tensor.raw_data(), result.data);
  } else {
    read_field(tensor, *dtype, result.data);
  }
  return result;
}

}  // namespace plumb::model
