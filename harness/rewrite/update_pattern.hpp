// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {

/// Finds updates of single tensors by one rule with the same numbers. Up to 48 of them become one
/// layer, as multi-tensor kernels of optimisers do it (the key of any more would be unwieldy).
[[nodiscard]] std::vector<Match> find_updates(const model::Graph& graph, std::string_view rule);

}  // namespace plumb::rewrite
