// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "harness/model/graph.hpp"
#include "harness/model/tensor.hpp"

namespace plumb {

/// Adds what a graph's folded layers compute to its constants, in float64 by the reference. A layer
/// whose operands or kind are not known adds nothing. Throws Error{kUser} for shapes and indices
/// that contradict each other.
void fold_constants(const Graph& graph, std::map<ValueId, Tensor>& constants);

}  // namespace plumb
