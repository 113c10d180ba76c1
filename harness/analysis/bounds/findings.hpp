// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb {

/// Lists what a reader of the bounds must know, in a fixed order. These are fall-backs to reference
/// implementations, bounds above what they must not exceed, and a missing calibration.
[[nodiscard]] std::vector<std::string> findings_of(const Graph& graph,
                                                   const ResultSet& results,
                                                   const ModelBounds& bounds);

/// Lists how many of the rows that the bounds rest on were disturbed, and how many are unstable.
[[nodiscard]] std::vector<std::string> disturbances_of(const ResultSet& results,
                                                       const ModelBounds& bounds);

}  // namespace plumb
