// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"

namespace plumb::analysis {

/// Returns for each step the steps that make what it reads, ascending. Layers outside of all steps
/// (views, folded ones) are looked through.
[[nodiscard]] std::vector<std::vector<std::size_t>> step_needs(
    const model::Graph& graph, const std::vector<PartitionStep>& steps);

}  // namespace plumb::analysis
