// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/analyze/change_points.hpp"
#include "harness/analyze/noise_estimate.hpp"
#include "harness/analyze/step_model.hpp"

namespace plumb {

/// What changed in a series with two states.
struct TwoStateChanges {
  std::vector<ChangePoint> change_points;  ///< both levels, the same way
  std::vector<StateChange> state_changes;
};

/// Compares two states with the levels that were chosen, by likelihood, and looks for changes of
/// the states. Absent: the series has no two states. `values` are those that `scaled` is made of.
[[nodiscard]] std::optional<TwoStateChanges> find_two_state_changes(std::span<const double> values,
                                                                    const ScaledSeries& scaled,
                                                                    const StepPath& levels);

}  // namespace plumb
