// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/constant_value.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::model {
namespace {

namespace fs = std::filesystem;

/// Place of a tensor's bytes in a file beside the model.
struct ExternalData {
  std::filesystem::path file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

[[noreturn]] void fail(const onnx::TensorProto& tensor, std::string_view problem) {
  throw Error(
      Error::Kind::kUser,
      fmt::format("external data of tensor '{}': {}", tensor.name().substr(0, 200), problem));
}

std::uint64_t number(const onnx::TensorProto& tensor,
                     const std::string& key,
                     const std::string& text) {
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text);
  if (!value) {
    fail(tensor, fmt::format("{} '{}' is not a number of bytes", key, text.substr(0, 40)));
  }
  return *value;
}

fs::path resolve(const onnx::TensorProto& tensor,
                 const fs::path& folder,
                 const std::string& location) {
  const fs::path relative(location);
  if (folder.empty()) {
    fail(tensor, "a model in memory has no folder to read it from");
  }
  if (location.empty() || location.size() > 4096 || location.find('\0') != std::string::npos ||
      relative.is_absolute() ||
      std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end()) {
    fail(tensor,
         fmt::format("location '{}' does not name a file inside the model's folder",
                     location.substr(0, 200)));
  }
  std::error_code code;
  const fs::path inside = fs::canonical(folder, code);
  const fs::path file = code ? fs::path() : fs::canonical(folder / relative, code);
  if (code) {
    fail(tensor,
         fmt::format("cannot find '{}': {}; put it beside the model",
                     (folder / relative).string(),
                     code.message()));
  }
  const auto [left, rest] = std::mismatch(inside.begin(), inside.end(), file.begin(), file.end());
  if (left != inside.end()) {
    fail(tensor,
         fmt::format(
             "location '{}' leads out of the model's folder, to '{}'", location, file.string()));
  }
  if (!fs::is_regular_file(file, code)) {
    fail(tensor, fmt::format("'{}' is not a regular file", file.string()));
  }
  return file;
}

/// Finds and checks a tensor's external data, without reading them. They must be `bytes` long, in a
/// regular file that is long enough. The file must be inside `folder` after every link is followed.
/// Throws Error{kUser} otherwise, naming the tensor and the place.
ExternalData locate_external_data(const onnx::TensorProto& tensor,
                                  const fs::path& folder,
                                  std::uint64_t bytes) {
  std::string location;
  ExternalData data;
  data.length = bytes;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      data.offset = number(tensor, "offset", entry.value());
    } else if (entry.key() == "length") {
      data.length = number(tensor, "length", entry.value());
    }
  }
  data.file = resolve(tensor, folder, location);
  if (data.length != bytes) {
    fail(tensor, fmt::format("length {} where the shape needs {} bytes", data.length, bytes));
  }
  std::error_code code;
  const std::uintmax_t size = fs::file_size(data.file, code);
  if (code || data.offset > size || data.length > size - data.offset) {
    fail(tensor,
         fmt::format("bytes {} to {} + {} lie beyond the end of '{}' ({} bytes)",
                     data.offset,
                     data.offset,
                     data.length,
                     data.file.string(),
                     code ? 0 : size));
  }
  return data;
}

/// Reads the data that locate_external_data() found. Throws Error{kUser} if the file cannot be
/// read.
std::string read_external_data(const ExternalData& data) {
  std::string bytes(data.length, '\0');
  std::ifstream stream(data.file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(data.offset));
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream) {
    throw Error(
        Error::Kind::kUser,
        fmt::format(
            "cannot read {} bytes at {} of '{}'", data.length, data.offset, data.file.string()));
  }
  return bytes;
}

using onnx::TensorProto;

struct TypePair {
  TensorProto::DataType onnx_type;
  DataType type;
};

constexpr std::array kTypePairs = std::to_array<TypePair>({
    {TensorProto::FLOAT, DataType::kF32},
    {TensorProto::DOUBLE, DataType::kF64},
    {TensorProto::FLOAT16, DataType::kF16},
    {TensorProto::BFLOAT16, DataType::kBf16},
    {TensorProto::FLOAT8E4M3FN, DataType::kF8E4M3},
    {TensorProto::FLOAT8E5M2, DataType::kF8E5M2},
    {TensorProto::INT64, DataType::kS64},
    {TensorProto::INT32, DataType::kS32},
    {TensorProto::INT16, DataType::kS16},
    {TensorProto::INT8, DataType::kS8},
    {TensorProto::UINT64, DataType::kU64},
    {TensorProto::UINT32, DataType::kU32},
    {TensorProto::UINT16, DataType::kU16},
    {TensorProto::UINT8, DataType::kU8},
    {TensorProto::BOOL, DataType::kBool},
    {TensorProto::STRING, DataType::kString},
});

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = 0.0;
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = fraction * 0x1p-24;
  } else {
    value = (1024 + fraction) *
            std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent - 25) << 52);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

double bfloat_to_double(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

template <typename T, typename List, typename Convert>
void append_elements(const std::string& bytes, List& list, Convert convert) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + at, sizeof(T));
    list.push_back(convert(element));
  }
}

/// Decodes little-endian bytes, as raw_data and external data hold them.
void decode_bytes(const std::string& bytes, ConstantValue& value) {
  const auto integer = [](auto element) { return static_cast<std::int64_t>(element); };
  const auto real = [](auto element) { return static_cast<double>(element); };
  switch (value.dtype) {
    case DataType::kS64:
      return append_elements<std::int64_t>(bytes, value.integers, integer);
    case DataType::kU64:
      return append_elements<std::uint64_t>(bytes, value.integers, integer);
    case DataType::kS32:
      return append_elements<std::int32_t>(bytes, value.integers, integer);
    case DataType::kU32:
      return append_elements<std::uint32_t>(bytes, value.integers, integer);
    case DataType::kS16:
      return append_elements<std::int16_t>(bytes, value.integers, integer);
    case DataType::kU16:
      return append_elements<std::uint16_t>(bytes, value.integers, integer);
    case DataType::kS8:
      return append_elements<std::int8_t>(bytes, value.integers, integer);
    case DataType::kU8:
      return append_elements<std::uint8_t>(bytes, value.integers, integer);
    case DataType::kBool:
      return append_elements<std::uint8_t>(
          bytes, value.integers, [](auto e) { return std::int64_t{e != 0}; });
    case DataType::kF64:
      return append_elements<double>(bytes, value.reals, real);
    case DataType::kF32:
      return append_elements<float>(bytes, value.reals, real);
    case DataType::kF16:
      return append_elements<std::uint16_t>(bytes, value.reals, half_to_double);
    case DataType::kBf16:
      return append_elements<std::uint16_t>(bytes, value.reals, bfloat_to_double);
    case DataType::kF8E4M3:
    case DataType::kF8E5M2:
    case DataType::kString:
      return;
  }
}

void decode_fields(const TensorProto& tensor, ConstantValue& value) {
  switch (value.dtype) {
    case DataType::kF32:
      value.reals.assign(tensor.float_data().begin(), tensor.float_data().end());
      return;
    case DataType::kF64:
      value.reals.assign(tensor.double_data().begin(), tensor.double_data().end());
      return;
    case DataType::kF16:
    case DataType::kBf16:
      for (const std::int32_t bits : tensor.int32_data()) {
        const auto half = static_cast<std::uint16_t>(bits);
        value.reals.push_back(value.dtype == DataType::kF16 ? half_to_double(half)
                                                            : bfloat_to_double(half));
      }
      return;
    case DataType::kS64:
      value.integers.assign(tensor.int64_data().begin(), tensor.int64_data().end());
      return;
    case DataType::kU32:
    case DataType::kU64:
      for (const std::uint64_t element : tensor.uint64_data()) {
        value.integers.push_back(static_cast<std::int64_t>(element));
      }
      return;
    default:
      value.integers.assign(tensor.int32_data().begin(), tensor.int32_data().end());
      return;
  }
}

}  // namespace

std::optional<DataType> data_type_of(std::int32_t onnx_type) {
  for (const TypePair& pair : kTypePairs) {
    if (pair.onnx_type == onnx_type) {
      return pair.type;
    }
  }
  return std::nullopt;
}

bool holds_data(const TensorProto& tensor) {
  return tensor.data_location() != TensorProto::EXTERNAL &&
         (!tensor.raw_data().empty() || tensor.float_data_size() > 0 ||
          tensor.int64_data_size() > 0 || tensor.int32_data_size() > 0 ||
          tensor.double_data_size() > 0 || tensor.uint64_data_size() > 0 ||
          tensor.string_data_size() > 0);
}

std::optional<ConstantValue> decode(const TensorProto& tensor,
                                    const std::filesystem::path& folder) {
  const std::optional<DataType> dtype = data_type_of(tensor.data_type());
  if (!dtype || *dtype == DataType::kString || *dtype == DataType::kF8E4M3 ||
      *dtype == DataType::kF8E5M2) {
    return std::nullopt;
  }
  ConstantValue value;
  value.dtype = *dtype;
  value.dims.assign(tensor.dims().begin(), tensor.dims().end());
  const TensorType type{.dtype = *dtype, .dims = value.dims, .constant = true, .strides = {}};
  const std::int64_t elements = element_count(type);
  if (elements > ConstantValue::kMaxElements) {
    return std::nullopt;
  }
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    decode_bytes(read_external_data(locate_external_data(
                     tensor, folder, static_cast<std::uint64_t>(byte_size(type).value))),
                 value);
  } else if (!tensor.raw_data().empty()) {
    decode_bytes(tensor.raw_data(), value);
  } else {
    decode_fields(tensor, value);
    if (value.size() == 0 && elements > 0) {
      return std::nullopt;  // weight-free
    }
  }
  if (value.size() != static_cast<std::size_t>(elements)) {
    throw Error(Error::Kind::kUser,
                fmt::format("tensor '{}' holds {} elements where its shape needs {}",
                            tensor.name(),
                            value.size(),
                            elements));
  }
  return value;
}

void check_stored_size(const TensorProto& tensor,
                       const TensorType& type,
                       const std::filesystem::path& folder) {
  const auto elements = static_cast<std::uint64_t>(element_count(type));
  const auto bytes = static_cast<std::uint64_t>(byte_size(type).value);
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (type.dtype != DataType::kString) {
      static_cast<void>(locate_external_data(tensor, folder, bytes));
    }
    return;
  }
  if (!holds_data(tensor)) {
    return;
  }
  const auto stored = static_cast<std::uint64_t>(
      tensor.float_data_size() + tensor.int32_data_size() + tensor.int64_data_size() +
      tensor.uint64_data_size() + tensor.double_data_size() + tensor.string_data_size());
  if (tensor.raw_data().empty() ? stored != elements : tensor.raw_data().size() != bytes) {
    throw Error(Error::Kind::kUser,
                fmt::format("tensor '{}' stores {} {} where its shape needs {}",
                            tensor.name().substr(0, 200),
                            tensor.raw_data().empty() ? stored : tensor.raw_data().size(),
                            tensor.raw_data().empty() ? "elements" : "bytes",
                            tensor.raw_data().empty() ? elements : bytes));
  }
}

std::optional<ConstantValue> listed_constant(const onnx::NodeProto& node) {
  ConstantValue value;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "value_int") {
      value.integers = {attribute.i()};
    } else if (attribute.name() == "value_ints") {
      value.integers.assign(attribute.ints().begin(), attribute.ints().end());
      value.dims = {attribute.ints_size()};
    } else if (attribute.name() == "value_float") {
      value.dtype = DataType::kF32;
      value.reals = {static_cast<double>(attribute.f())};
    } else if (attribute.name() == "value_floats") {
      value.dtype = DataType::kF32;
      value.reals.assign(attribute.floats().begin(), attribute.floats().end());
      value.dims = {attribute.floats_size()};
    } else {
      continue;
    }
    return value;
  }
  return std::nullopt;
}

TensorProto encode(const ConstantValue& value) {
  TensorProto tensor;
  for (const TypePair& pair : kTypePairs) {
    if (pair.type == value.dtype) {
      tensor.set_data_type(pair.onnx_type);
    }
  }
  for (const std::int64_t extent : value.dims) {
    tensor.add_dims(extent);
  }
  switch (value.dtype) {
    case DataType::kS64:
      tensor.mutable_int64_data()->Add(value.integers.begin(), value.integers.end());
      break;
    case DataType::kF64:
      tensor.mutable_double_data()->Add(value.reals.begin(), value.reals.end());
      break;
    case DataType::kF32:
      for (const double element : value.reals) {
        tensor.add_float_data(static_cast<float>(element));
      }
      break;
    default:
      for (const std::int64_t element : value.integers) {
        tensor.add_int32_data(static_cast<std::int32_t>(element));
      }
  }
  return tensor;
}

namespace {

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
