// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::analysis {

/// Returns whether an operation is a kernel that torch.compile made of several operators.
[[nodiscard]] bool is_made_kernel(std::string_view operation);

/// Returns whether an operation of a runtime or a library may execute a layer of this ONNX
/// operator. Knows the names of oneDNN, ONNX Runtime and PyTorch.
[[nodiscard]] bool may_execute(std::string_view operation, std::string_view onnx_op);

}  // namespace plumb::analysis
