// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/model/node_view.hpp"

namespace plumb {

/// Infers the types of a node's outputs with the operator's own rule of the onnx library, or ours
/// where it has none, and stores them in the outputs. What stays open is left without a type.
/// Returns what the rule found wrong with the node; empty if nothing.
[[nodiscard]] std::optional<std::string> infer_outputs(const NodeView& node);

}  // namespace plumb
