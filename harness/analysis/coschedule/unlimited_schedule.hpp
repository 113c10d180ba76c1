// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/base/units.hpp"

namespace plumb::analysis {

/// Schedule of a model's steps on a machine without limits.
struct UnlimitedSchedule {
  struct Place {
    Seconds begin{};
    Seconds end{};
    std::size_t lane = 0;
  };
  std::vector<Place> places;  ///< by step
  Seconds total{};
  std::size_t lanes = 0;
  bool timed = false;  ///< whether any step has a time. If not, each counts as one second
};

/// Starts every step when the last of those it waits for has ended. The critical path takes lane 0.
/// Any other step takes the lane of one that it waits for if that is free, or else the first free
/// one. Steps without a time take none. `steps` are in topological order, and `needs` has the steps
/// that each waits for (step_needs()).
[[nodiscard]] UnlimitedSchedule schedule_without_limits(
    std::span<const PartitionStep> steps, const std::vector<std::vector<std::size_t>>& needs);

}  // namespace plumb::analysis
