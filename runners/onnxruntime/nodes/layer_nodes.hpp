// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/onnxruntime/nodes/node_rules.hpp"

namespace plumb::onnxruntime {

/// Writes the nodes of a layer, fused steps included. Throws Error{kUser} where ONNX has no such
/// operator.
void write_nodes(const NamedLayer& layer, NodeWriter& writer);

}  // namespace plumb::onnxruntime
