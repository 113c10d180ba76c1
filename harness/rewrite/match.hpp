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

}  // namespace plumb::rewrite
