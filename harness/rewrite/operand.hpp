// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Returns whether a layer is computed and has the given operator.
[[nodiscard]] bool is_op(const model::Layer& layer, std::string_view op);
/// Returns whether a layer is computed and has the given operator and `fn` attribute.
[[nodiscard]] bool is_fn(const model::Layer& layer, std::string_view op, std::string_view fn);

/// Returns the position (0 or 1) of the operand beside `value` of a `binary` layer with function
/// `fn`. Empty if the layer is anything else, or reads `value` twice or never.
[[nodiscard]] std::optional<std::size_t> other_operand(const model::Layer& layer,
                                                       std::string_view fn,
                                                       model::ValueId value);

/// Returns whether an operand is a constant of one element with the value `expected`, within 0.1%.
/// A model without weights may not hold the value. It is then not compared, and the pattern around
/// the operand decides.
[[nodiscard]] bool is_scalar(const model::Graph& graph,
                             const model::Layer& layer,
                             std::size_t operand,
                             double expected);

/// Returns whether a layer is binary `fn` of `value` and a constant near `expected`. Sub, div and
/// pow need `value` on the left.
[[nodiscard]] bool is_with_scalar(const model::Graph& graph,
                                  const model::Layer& layer,
                                  std::string_view fn,
                                  model::ValueId value,
                                  double expected);

}  // namespace plumb::rewrite
