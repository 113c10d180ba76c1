// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/loss.hpp"

namespace plumb::rewrite {

/// Layers that compute a loss, and where its gradient begins.
struct LossLayers {
  model::ValueId target = 0;
  model::ValueId loss = 0;
  model::ValueId of = 0;        ///< the value whose gradient is known
  model::ValueId gradient = 0;  ///< of the loss by `of`
  std::optional<ClassAxis> classes{};
};

/// Adds `share` times a loss of a model's result to a graph, with the target as an input. Throws
/// Error{kUser} if the result is no floating tensor with elements.
LossLayers add_loss_layers(model::Graph& graph, Loss loss, model::ValueId result, double share);

}  // namespace plumb::rewrite
