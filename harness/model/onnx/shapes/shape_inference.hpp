// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Infers the types of a node's outputs and stores them in the outputs. The rule is that of the
/// onnx library, or a built-in one where the library has none. Types that stay open are left
/// absent. Returns what the rule found wrong with the node. Empty if nothing.
[[nodiscard]] std::optional<std::string> infer_outputs(const NodeView& node);

/// Corrects a Reshape whose target has the file's own batch, after `--batch` replaced that. The
/// first extent follows the input's, and a -1 in the target is recomputed. Leaves every other node
/// as it is.
void follow_batch(const NodeView& node, std::int64_t file_batch, std::int64_t batch);

}  // namespace plumb::model
