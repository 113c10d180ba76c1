// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "harness/model/graph.hpp"

namespace plumb {

/// Returns whether a layer is computed and is of the given operator.
[[nodiscard]] bool is_op(const Layer& layer, std::string_view op);
/// Returns whether a layer is computed, of the given operator and has the given `fn` attribute.
[[nodiscard]] bool is_fn(const Layer& layer, std::string_view op, std::string_view fn);

/// Returns the position (0 or 1) of the operand beside `value` of a `binary` layer with function
/// `fn`; empty if the layer is something else or reads `value` twice or never.
[[nodiscard]] std::optional<std::size_t> other_operand(const Layer& layer,
                                                       std::string_view fn,
                                                       ValueId value);

/// Returns whether an operand is a constant of one element, with the value `expected`. The value is
/// compared (within 0.1%) where the file holds it. A model without weights may not hold it. Then
/// the pattern around the operand decides.
[[nodiscard]] bool is_scalar(const Graph& graph,
                             const Layer& layer,
                             std::size_t operand,
                             double expected);

/// Returns whether a layer is binary `fn` of `value` and a constant near `expected`. Sub, div and
/// pow need `value` on the left.
[[nodiscard]] bool is_with_scalar(
    const Graph& graph, const Layer& layer, std::string_view fn, ValueId value, double expected);

}  // namespace plumb
