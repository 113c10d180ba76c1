// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/outcome.hpp"

namespace plumb::engine {

/// Computes a model's outputs layer by layer with the float64 reference. `values` holds its inputs,
/// its constants and what folded layers make of them; results are added. Calls `after_layer`, if it
/// is given, after each layer. Not ok: a layer without a reference, or a value that is not known.
[[nodiscard]] results::Outcome reference_model_outputs(
    const model::Graph& graph,
    std::map<model::ValueId, model::Tensor>& values,
    std::vector<model::Tensor>& outputs,
    const std::function<void()>& after_layer = {});

}  // namespace plumb::engine
