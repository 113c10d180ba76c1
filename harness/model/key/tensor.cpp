// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/tensor.hpp"

#include <fmt/format.h>

#include <array>

#include "harness/base/error.hpp"

namespace plumb::model {
namespace {

struct TypeRow {
  DataType type;
  std::string_view text;
  std::int64_t bytes;
  bool floating;
};

constexpr std::array<TypeRow, 16> kTypes{{
    {DataType::kF64, "f64", 8, true},
    {DataType::kF32, "f32", 4, true},
    {DataType::kF16, "f16", 2, true},
    {DataType::kBf16, "bf16", 2, true},
    {DataType::kF8E4M3, "f8e4m3", 1, true},
    {DataType::kF8E5M2, "f8e5m2", 1, true},
    {DataType::kS64, "s64", 8, false},
    {DataType::kS32, "s32", 4, false},
    {DataType::kS16, "s16", 2, false},
    {DataType::kS8, "s8", 1, false},
    {DataType::kU64, "u64", 8, false},
    {DataType::kU32, "u32", 4, false},
    {DataType::kU16, "u16", 2, false},
    {DataType::kU8, "u8", 1, false},
    {DataType::kBool, "bool", 1, false},
    {DataType::kString, "string", 0, false},
}};

const TypeRow& row_of(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) {
      return row;
    }
  }
  fail_check("a known data type", __FILE__, __LINE__);
}

}  // namespace

std::string_view to_text(DataType type) {
  return row_of(type).text;
}

std::optional<DataType> parse_data_type(std::string_view text) {
  for (const TypeRow& row : kTypes) {
    if (row.text == text) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::int64_t element_bytes(DataType type) {
  return row_of(type).bytes;
}

bool is_floating(DataType type) {
  return row_of(type).floating;
}

std::int64_t element_count(const TensorType& type) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t count = 1;
  for (const std::int64_t extent : type.dims) {
    if (extent == 0) {
      return 0;
    }
    if (extent < 0 || extent > kMost / count) {
      throw Error(
          Error::Kind::kUser,
          fmt::format("a tensor of shape [{}] has a negative extent or more than 2^40 elements: "
                      "check the model's shapes, or bind its dimensions with --dim",
                      fmt::join(type.dims, ",")));
    }
    count *= extent;
  }
  return count;
}

Bytes byte_size(const TensorType& type) {
  return Bytes{element_count(type) * element_bytes(type.dtype)};
}

DataType accumulation_type(DataType type) {
  switch (type) {
    case DataType::kF64:
      return DataType::kF64;
    case DataType::kS64:
    case DataType::kU64:
      return DataType::kS64;
    case DataType::kS32:
    case DataType::kU32:
    case DataType::kS16:
    case DataType::kU16:
    case DataType::kS8:
    case DataType::kU8:
    case DataType::kBool:
      return DataType::kS32;
    default:
      return DataType::kF32;
  }
}

}  // namespace plumb::model
