// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/rewrite/rewrite.hpp"

namespace plumb {

/// Finds LayerNormalization written out, as exporters do below opset 17: ReduceMean, Sub, Pow (or
/// Mul by itself), ReduceMean, Add epsilon, Sqrt, Div, Mul scale, Add bias. The match is one
/// `layer_norm` with a bias; epsilon is 1e-5 where a weight-free file does not say.
[[nodiscard]] std::vector<Match> find_layer_norms(const Graph& graph, std::string_view rule);

}  // namespace plumb
