// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {

/// Finds LayerNormalization written as several nodes, as exporters do below opset 17. These are
/// ReduceMean, Sub, Pow (or Mul by itself), ReduceMean, Add epsilon, Sqrt, Div, Mul scale and Add
/// bias. A match is one `layer_norm` with a bias. Epsilon is 1e-5 if a weight-free file does not
/// give it.
[[nodiscard]] std::vector<Match> find_layer_norms(const model::Graph& graph, std::string_view rule);

}  // namespace plumb::rewrite
