// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/model/tensor.hpp"

namespace onnx {
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace plumb {

/// Elements of a small tensor that is known before the run: shape arithmetic, axes, bounds, scales.
/// Integers and booleans are in `integers`, floating types in `reals`. The other list is empty.
struct ConstantValue {
  DataType dtype = DataType::kS64;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;

  /// Most elements that are ever evaluated; larger constants are weights, whose values do not
  /// matter here.
  static constexpr std::int64_t kMostElements = 65536;

  [[nodiscard]] bool is_real() const { return is_floating(dtype); }
  [[nodiscard]] std::size_t size() const { return is_real() ? reals.size() : integers.size(); }
  /// Reads element `index` whatever the type is.
  [[nodiscard]] double number(std::size_t index) const {
    return is_real() ? reals[index] : static_cast<double>(integers[index]);
  }
};

/// Translates ONNX's number of an element type; empty for types that no layer key can carry
/// (complex, 4 bits…).
[[nodiscard]] std::optional<DataType> data_type_of(std::int32_t onnx_type);

/// Returns whether a tensor holds its elements itself: neither external nor weight-free.
[[nodiscard]] bool holds_data(const onnx::TensorProto& tensor);

/// Decodes a small tensor, read from `folder` if it is external. Empty: no data, too large, or not
/// numeric. Throws Error{kUser} if the data does not fit the shape.
[[nodiscard]] std::optional<ConstantValue> decode(const onnx::TensorProto& tensor,
                                                  const std::filesystem::path& folder);

/// Checks that what a tensor stores, here or in an external file, is as large as its type says,
/// without reading it. A tensor that stores nothing passes. Throws Error{kUser}.
void check_stored_size(const onnx::TensorProto& tensor,
                       const TensorType& type,
                       const std::filesystem::path& folder);

/// Reads the number or list of numbers of a Constant node; empty if it holds a tensor or text.
[[nodiscard]] std::optional<ConstantValue> listed_constant(const onnx::NodeProto& node);

/// Encodes a value for ONNX's shape inference.
[[nodiscard]] onnx::TensorProto encode(const ConstantValue& value);

}  // namespace plumb
