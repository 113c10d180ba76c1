// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/match.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::rewrite {

Match make_match(std::string_view rule,
                 std::vector<model::LayerId> layers,
                 Replacement replacement) {
  PLUMB_CHECK(replacement.inputs.size() == replacement.spec.inputs.size());
  std::sort(layers.begin(), layers.end());
  model::LayerKey key = model::to_key(replacement.spec);
  const model::LayerCost cost = model::compute_cost(replacement.spec);
  return {std::move(replacement), rule, std::move(layers), std::move(key), cost};
}

bool is_op(const model::Layer& layer, std::string_view op) {
  return layer.role == model::Layer::Role::kCompute && layer.spec.op == op;
}

bool is_fn(const model::Layer& layer, std::string_view op, std::string_view fn) {
  return is_op(layer, op) && layer.spec.text("fn") == fn;
}

std::optional<std::size_t> other_operand(const model::Layer& layer,
                                         std::string_view fn,
                                         model::ValueId value) {
  if (!is_fn(layer, "binary", fn) || layer.inputs.size() < 2) {
    return std::nullopt;
  }
  const bool left = layer.inputs[0] == value;
  const bool right = layer.inputs[1] == value;
  if (left == right) {
    return std::nullopt;
  }
  return left ? 1U : 0U;
}

bool is_scalar(const model::Graph& graph,
               const model::Layer& layer,
               std::size_t operand,
               double expected) {
  const std::optional<model::TensorType>& type = layer.spec.inputs[operand];
  if (!type || !type->constant || element_count(*type) != 1 || !layer.inputs[operand]) {
    return false;
  }
  const std::optional<double>& scalar = graph.values[*layer.inputs[operand]].scalar;
  return !scalar || std::abs(*scalar - expected) <= 1e-3 * std::abs(expected);
}

bool is_with_scalar(const model::Graph& graph,
                    const model::Layer& layer,
                    std::string_view fn,
                    model::ValueId value,
                    double expected) {
  const std::optional<std::size_t> other = other_operand(layer, fn, value);
  if (!other || !is_scalar(graph, layer, *other, expected)) {
    return false;
  }
  const bool commutes = fn == "add" || fn == "mul";
  return commutes || *other == 1;
}

}  // namespace plumb::rewrite
