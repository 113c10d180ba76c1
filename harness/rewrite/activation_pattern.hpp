// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/rewrite/rewrite.hpp"
#include "harness/rewrite/value_uses.hpp"

namespace plumb {

/// Activation applied to a value: one node, or several that exporters write for one.
struct Activation {
  Epilogue step;
  std::vector<LayerId> layers;
  ValueId result = 0;
};

/// Finds the activations applied to `value` that a library fuses behind a product: single nodes,
/// and SiLU, HardSwish and GELU written out. Whether nothing else reads what lies between is the
/// caller's question (ValueUses::closed).
[[nodiscard]] std::vector<Activation> activations_of(const Graph& graph,
                                                     const ValueUses& uses,
                                                     ValueId value);

/// Finds every place where several nodes are the activation `fn`: the match is one `eltwise` layer.
[[nodiscard]] std::vector<Match> find_written_out_activations(const Graph& graph,
                                                              std::string_view rule,
                                                              std::string_view fn);

}  // namespace plumb
