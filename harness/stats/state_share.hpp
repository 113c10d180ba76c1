// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/stats/series_change.hpp"

namespace plumb::stats {

/// Finds where the share of points in the higher state changed by 0.15 or more. The method is
/// binary segmentation of the likelihood of a Markov chain's moves. Parts have at least twenty
/// points.
[[nodiscard]] std::vector<StateChange> find_share_changes(const std::vector<char>& is_high);

}  // namespace plumb::stats
