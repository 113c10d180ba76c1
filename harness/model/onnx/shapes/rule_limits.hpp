// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Returns why the onnx library's rule for a node must not run on it. Empty: it may. The rules of
/// some operators trust attributes: they then never end, or take memory without limit.
[[nodiscard]] std::optional<std::string> refuse_rule(const NodeView& node);

}  // namespace plumb::model
