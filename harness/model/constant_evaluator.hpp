// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/constant_value.hpp"
#include "harness/model/node_view.hpp"

namespace plumb {

/// Evaluates a node of the default domain whose inputs are known, for the operators that exporters
/// use in shape arithmetic. The output's shape must have been inferred. Empty: not such an
/// operator, an input is not known, or the result is larger than ConstantValue::kMostElements.
[[nodiscard]] std::optional<ConstantValue> evaluate(const NodeView& node);

}  // namespace plumb
