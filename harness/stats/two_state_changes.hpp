// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/stats/noise_estimate.hpp"
#include "harness/stats/segmentation.hpp"
#include "harness/stats/series_change.hpp"

namespace plumb::stats {

/// Changes of a series with two states.
struct TwoStateChanges {
  std::vector<ChangePoint> change_points;  ///< both levels, the same way
  std::vector<StateChange> state_changes;
};

/// Finds the changes of a series with two states. Absent: the levels that were chosen explain it
/// better than two states do, by likelihood. `values` are those that `scaled` is made of.
[[nodiscard]] std::optional<TwoStateChanges> find_two_state_changes(std::span<const double> values,
                                                                    const ScaledSeries& scaled,
                                                                    const StepPath& levels);

}  // namespace plumb::stats
