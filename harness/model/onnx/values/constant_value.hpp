// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/key/tensor.hpp"

namespace onnx {

class NodeProto;
class TensorProto;

}  // namespace onnx

namespace plumb::model {

/// Elements of a small tensor that is known before the run. Examples are shape arithmetic, axes,
/// bounds and scales. Integers and booleans are in `integers`, floating types in `reals`. The other
/// list is empty.
struct ConstantValue {
  DataType dtype = DataType::kS64;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;

  /// Most elements that are evaluated. Larger constants are weights, whose values do not matter
  /// here.
  static constexpr std::int64_t kMaxElements = 65536;

  [[nodiscard]] bool is_real() const { return is_floating(dtype); }
  [[nodiscard]] std::size_t size() const { return is_real() ? reals.size() : integers.size(); }
  /// Returns element `index` as a double, whatever the type.
  [[nodiscard]] double number(std::size_t index) const {
    return is_real() ? reals[index] : static_cast<double>(integers[index]);
  }
};

/// Returns the type for ONNX's number of an element type. Empty for types that no layer key can
/// have (complex, 4 bits…).
[[nodiscard]] std::optional<DataType> data_type_of(std::int32_t onnx_type);

/// Returns whether a tensor holds its elements itself, so is neither external nor weight-free.
[[nodiscard]] bool holds_data(const onnx::TensorProto& tensor);

/// Decodes a small tensor, which is read from `folder` if it is external. Empty: no data, too
/// large, or not numeric. Throws Error{kUser} if the data do not fit the shape.
[[nodiscard]] std::optional<ConstantValue> decode(const onnx::TensorProto& tensor,
                                                  const std::filesystem::path& folder);

/// Checks that the data of a tensor, here or in an external file, are as large as its type says.
/// Does not read them. A tensor without data passes. Throws Error{kUser}.
void check_stored_size(const onnx::TensorProto& tensor,
                       const TensorType& type,
                       const std::filesystem::path& folder);

/// Reads the number or list of numbers of a Constant node. Empty if it holds a tensor or text.
[[nodiscard]] std::optional<ConstantValue> listed_constant(const onnx::NodeProto& node);

/// Encodes a value for ONNX's shape inference.
[[nodiscard]] onnx::TensorProto encode(const ConstantValue& value);

/// Reads every element of a tensor of any size, from `folder` if it is external. Empty: the tensor
/// holds no data, or a type that no layer key can have. Throws Error{kUser} if the data do not fit
/// the shape.
[[nodiscard]] std::optional<Tensor> load_tensor(const onnx::TensorProto& tensor,
                                                const std::filesystem::path& folder);

}  // namespace plumb::model
