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

/// Corrects a Reshape whose target is written for the file's own batch, after `--batch` replaced
/// that: the first extent follows the input's, and a -1 in the target is worked out anew. Leaves
/// every other node as it is.
void follow_batch(const NodeView& node, std::int64_t file_batch, std::int64_t batch);

}  // namespace plumb
