// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/onnx/values/constant_value.hpp"
#include "harness/model/onnx/values/node_view.hpp"

namespace plumb::model {

/// Evaluates a node of the default domain with known inputs. It supports the operators that
/// exporters use in shape arithmetic. The output's shape must have been inferred. Empty: another
/// operator, an input is not known, or the result is larger than ConstantValue::kMaxElements.
[[nodiscard]] std::optional<ConstantValue> evaluate(const NodeView& node);

}  // namespace plumb::model
