// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// The one layer that replaces several layers.
struct Replacement {
  model::LayerSpec spec;  ///< BatchNorm and scales are folded into weights and bias
  std::vector<std::optional<model::ValueId>>
      inputs;  ///< one to one with spec.inputs; with `folded`, operands 1 and 2 before it
  model::ValueId result = 0;
  std::vector<model::LayerId> folded;  ///< what scales and shifts the channels of weights (operand
                                       ///< 1, along its first axis) and bias (2), in order
  std::vector<model::ValueId> further_results{};  ///< of a layer with several, after `result`
};

/// Set of layers of a graph that one layer with another key may replace.
struct Match : Replacement {
  std::string_view rewrite;  ///< name of the rule, e.g. "conv_bn_activation"
  std::vector<model::LayerId>
      layers;  ///< all that it replaces, ascending; values in between have no other reader
  model::LayerKey key;
  model::LayerCost cost;
};

/// Makes a match of a rule. Sorts the layers, writes the key and computes the cost of the spec.
[[nodiscard]] Match make_match(std::string_view rule,
                               std::vector<model::LayerId> layers,
                               Replacement replacement);

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
