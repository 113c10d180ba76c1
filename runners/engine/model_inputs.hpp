// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/graph.hpp"

namespace plumb {

/// Makes the inputs of a model, dense, in its order: real numbers in [-1, 1), integers and booleans
/// that are valid as indices of whatever table they look up, 0 or 1 where they look up none. The
/// same bytes for the same model and seed on every machine. Throws Error{kUser} for a type that
/// number_formats cannot write.
[[nodiscard]] std::vector<Tensor> model_inputs(const Graph& graph, std::uint64_t seed);

}  // namespace plumb
