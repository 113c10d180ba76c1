// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {

/// Activation of a value: one node, or several that exporters write for one.
struct Activation {
  model::Epilogue step;
  std::vector<model::LayerId> layers;
  model::ValueId result = 0;
};

/// Finds the activations of `value` that a library fuses behind a product. They are single nodes,
/// and SiLU, HardSwish and GELU written as several nodes. The caller checks that nothing else reads
/// the values in between (ValueUses::closed).
[[nodiscard]] std::vector<Activation> find_activations(const model::Graph& graph,
                                                       const ValueUses& uses,
                                                       model::ValueId value);

/// Finds every place where several nodes together compute the activation `fn`. A match becomes one
/// `eltwise` layer.
[[nodiscard]] std::vector<Match> find_written_out_activations(const model::Graph& graph,
                                                              std::string_view rule,
                                                              std::string_view fn);

/// Finds every layer of operator `anchor` whose result only an `eltwise_backward` reads as dy, by
/// itself or, where it is a matrix, through one view that keeps the rows. A match has the
/// function's gradient as its epilogue.
[[nodiscard]] std::vector<Match> find_activation_gradients(const model::Graph& graph,
                                                           std::string_view rule,
                                                           std::string_view anchor);

}  // namespace plumb::rewrite
