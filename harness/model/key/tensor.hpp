// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::model {

/// Element type. Its text (to_text) stands in layer keys.
enum class DataType {
  kF64,
  kF32,
  kF16,
  kBf16,
  kF8E4M3,
  kF8E5M2,
  kS64,
  kS32,
  kS16,
  kS8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kString,
};

/// Returns the text of a type: "f32", "bf16", "f8e4m3", "s64", "bool", …
[[nodiscard]] std::string_view to_text(DataType type);
/// Parses what to_text wrote. Empty if the type is unknown.
[[nodiscard]] std::optional<DataType> parse_data_type(std::string_view text);
/// Returns the bytes of one element. 0 for strings, whose size is not fixed.
[[nodiscard]] std::int64_t element_bytes(DataType type);
[[nodiscard]] bool is_floating(DataType type);
/// Returns the type in which layers with a first operand of this type accumulate.
[[nodiscard]] DataType accumulation_type(DataType type);

/// Type of one operand: element type, shape, and whether it is known before the run. Weights are,
/// and may be prepacked.
struct TensorType {
  DataType dtype = DataType::kF32;
  std::vector<std::int64_t> dims{};     ///< empty: a scalar; every extent ≥ 0
  bool constant = false;                ///< a weight, or computed from weights only
  std::vector<std::int64_t> strides{};  ///< in elements; empty: dense, last dimension fastest

  auto operator<=>(const TensorType&) const = default;
};

/// Returns the number of elements, 1 for a scalar. Throws Error{kUser} beyond 2^40 elements.
[[nodiscard]] std::int64_t element_count(const TensorType& type);
[[nodiscard]] Bytes byte_size(const TensorType& type);

/// Dense tensor in host memory, in native byte order.
struct Tensor {
  TensorType type;
  std::vector<std::byte> data;  ///< byte_size(type) bytes

  /// Reinterprets the data as elements of T, which the caller must choose to match the type.
  template <typename T>
  [[nodiscard]] T* as() {
    return static_cast<T*>(static_cast<void*>(data.data()));
  }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return static_cast<const T*>(static_cast<const void*>(data.data()));
  }
};

/// Returns whether the type is an 8-bit float of the Open Compute Project (OFP8, revision 1.0,
/// 2023).
[[nodiscard]] constexpr bool is_f8(DataType type) {
  return type == DataType::kF8E4M3 || type == DataType::kF8E5M2;
}

}  // namespace plumb::model
