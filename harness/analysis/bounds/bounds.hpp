// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::analysis {

inline constexpr std::string_view kAnalysisVersion = "1";

/// Computes all bounds of one model from one run's rows. Pure.
[[nodiscard]] ModelBounds compute_bounds(const ModelInstance& instance,
                                         const model::Graph& graph,
                                         const ResultSet& results);

}  // namespace plumb::analysis
