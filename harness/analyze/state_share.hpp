// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analyze/change_points.hpp"

namespace plumb {

/// Finds where the share of points in the higher state changed by 0.15 or more, by binary
/// segmentation of the likelihood of a Markov chain's moves. Parts have twenty points at least.
[[nodiscard]] std::vector<StateChange> find_share_changes(const std::vector<char>& is_high);

}  // namespace plumb
