// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/model/graph/graph.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::analysis {

/// Returns whether what a call says of its operands' shapes fits a layer. A call that says nothing
/// fits every layer.
[[nodiscard]] bool fits_shapes(const results::ExecutedTrace::Description& call,
                               const model::Layer& layer);

/// Returns whether a call of a library may be part of a runtime's call by the shapes of both. Says
/// so of calls whose shapes one of them does not tell.
[[nodiscard]] bool fits_operands(const results::ExecutedTrace::Description& library,
                                 const results::ExecutedTrace::Description& runtime);

/// Returns whether an operation is a kernel that torch.compile made of several operators.
[[nodiscard]] bool is_made_kernel(std::string_view operation);

/// Returns whether an operation of a runtime or a library may execute a layer of this ONNX
/// operator. Knows the names of oneDNN, ONNX Runtime and PyTorch.
[[nodiscard]] bool may_execute(std::string_view operation, std::string_view onnx_op);

/// Adds what a library's log knows to a runtime's trace of the same execution.
///
/// The library's calls are taken in order, each for the next call of the runtime that may be it by
/// operation and shapes. That call gets the implementation and the layouts. Reorders before it
/// become calls of their own, and their time is taken from the runtime's call.
[[nodiscard]] results::ExecutedTrace join_traces(results::ExecutedTrace runtime,
                                                 const results::ExecutedTrace& library);

}  // namespace plumb::analysis
