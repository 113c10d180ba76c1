// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analyze/bounds.hpp"

namespace plumb {

/// Lists what a reader of the bounds must know: fall-backs to reference implementations, bounds
/// above what they must not exceed, rows measured on a disturbed host or unstable. In a fixed
/// order.
[[nodiscard]] std::vector<std::string> findings_of(const Graph& graph,
                                                   const ResultSet& results,
                                                   const ModelBounds& bounds);

}  // namespace plumb
