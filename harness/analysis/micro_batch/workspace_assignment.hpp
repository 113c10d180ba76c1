// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::analysis {

/// One choice of a layer: what it takes, and the workspace that it holds.
struct WorkspaceChoice {
  Seconds time{};
  Bytes workspace;
};

/// One choice for each layer, whose workspaces together fit.
struct WorkspaceAssignment {
  std::vector<std::size_t> choices;  ///< index into each layer's choices
  Seconds time{};                    ///< the sum
  Bytes workspace;                   ///< the sum
};

/// Finds the fastest choice of every layer within a total workspace. This is the integer programme
/// WD of µ-cuDNN (arXiv 1804.04806, section 3.3), solved exactly. Layers do not share memory here:
/// WD divides one total among them. Absent: even the smallest choices do not fit, or a layer has
/// none.
[[nodiscard]] std::optional<WorkspaceAssignment> assign_workspaces(
    std::span<const std::vector<WorkspaceChoice>> layers, Bytes total);

}  // namespace plumb::analysis
