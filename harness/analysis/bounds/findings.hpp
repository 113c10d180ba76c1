// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"

namespace plumb::analysis {

/// Lists what a reader of the bounds must know, in a fixed order. These are fall-backs to reference
/// implementations, bounds above what they must not exceed, and a missing calibration.
[[nodiscard]] std::vector<std::string> list_findings(const model::Graph& graph,
                                                     const ResultSet& results,
                                                     const ModelBounds& bounds);

/// Lists how many of the rows that the bounds rest on were disturbed, and how many are unstable.
[[nodiscard]] std::vector<std::string> list_disturbances(const ResultSet& results,
                                                         const ModelBounds& bounds);

}  // namespace plumb::analysis
