// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/tensor.hpp"

namespace plumb::engine {

/// Computes a graph's folded layers by the float64 reference and adds the results that its
/// constants lack. A layer whose operands or operator are not known adds nothing. Throws
/// Error{kUser} for shapes and indices that contradict each other.
void fold_constants(const model::Graph& graph, std::map<model::ValueId, model::Tensor>& constants);

/// Adds to `made` the results of folded layers that `known` does not have.
void fold_constants(const model::Graph& graph,
                    const std::map<model::ValueId, model::Tensor>& known,
                    std::map<model::ValueId, model::Tensor>& made);

}  // namespace plumb::engine
