// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/model/graph/graph.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::analysis {

/// Returns whether what a call says of its operands' shapes fits a layer. A call that says nothing
/// fits every layer.
[[nodiscard]] bool fits_shapes(const results::CallDescription& call, const model::Layer& layer);

/// Returns whether a call of a library may be part of a runtime's call by the shapes of both. Says
/// so of calls whose shapes one of them does not tell.
[[nodiscard]] bool fits_operands(const results::CallDescription& library,
                                 const results::CallDescription& runtime);

/// Returns whether an operation is a kernel that torch.compile made of several operators.
[[nodiscard]] bool is_made_kernel(std::string_view operation);

/// Returns whether an operation of a runtime or a library may execute a layer of this ONNX
/// operator. Knows the names of oneDNN, ONNX Runtime and PyTorch.
[[nodiscard]] bool may_execute(std::string_view operation, std::string_view onnx_op);

}  // namespace plumb::analysis
