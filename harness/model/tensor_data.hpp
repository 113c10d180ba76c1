// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/model/tensor.hpp"

namespace onnx {
class TensorProto;
}

namespace plumb {

/// Reads every element of a tensor of any size, from `folder` if it is external. Empty: it holds no
/// data, or a type that no layer key can carry. Throws Error{kUser} if the data does not fit the
/// shape.
[[nodiscard]] std::optional<Tensor> load_tensor(const onnx::TensorProto& tensor,
                                                const std::filesystem::path& folder);

}  // namespace plumb
