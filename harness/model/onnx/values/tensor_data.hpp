// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/model/key/tensor.hpp"

namespace onnx {
class TensorProto;
}

namespace plumb::model {

/// Reads every element of a tensor of any size, from `folder` if it is external. Empty: the tensor
/// holds no data, or a type that no layer key can have. Throws Error{kUser} if the data do not fit
/// the shape.
[[nodiscard]] std::optional<Tensor> load_tensor(const onnx::TensorProto& tensor,
                                                const std::filesystem::path& folder);

}  // namespace plumb::model
