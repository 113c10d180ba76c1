// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"

namespace plumb {

/// Lists what a reader of the bounds must know, in a fixed order. These are fall-backs to reference
/// implementations, bounds above what they must not exceed, rows from a disturbed host and unstable
/// rows. A missing calibration is one too.
[[nodiscard]] std::vector<std::string> findings_of(const Graph& graph,
                                                   const ResultSet& results,
                                                   const ModelBounds& bounds);

}  // namespace plumb
