// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::engine {

/// Makes the inputs of a model, dense and in its order.
///
/// Real numbers lie in [-1, 1). Integers and booleans are valid indices of whatever table they look
/// up, or else 0 or 1. The bytes are the same for the same model and seed on every machine. Throws
/// Error{kUser} for a type that number_formats cannot write.
[[nodiscard]] std::vector<model::Tensor> model_inputs(const model::Graph& graph,
                                                      std::uint64_t seed);

}  // namespace plumb::engine
