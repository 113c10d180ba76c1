// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {

/// Finds products of training that read the rows of a gradient, with the sum of these rows beside
/// them: the gradients of a matrix of weights and of its bias. A match becomes one
/// `gemm_bias_gradient`.
[[nodiscard]] std::vector<Match> find_bias_gradients(const model::Graph& graph,
                                                     std::string_view rule);

}  // namespace plumb::rewrite
