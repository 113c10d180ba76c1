// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "runners/engine/exec/step_order.hpp"

namespace plumb::engine {

/// Assignment of steps to lanes, with the steps that each one waits for. A lane is a thread or a
/// team of threads.
struct BranchSchedule {
  std::vector<std::vector<std::size_t>> lanes;  ///< steps of each lane, in order; empty: no lanes
  StepNeeds waits;  ///< by step: the steps of other lanes that must finish before it

  /// Returns all steps that must finish before each step: its waits, and the step before it in its
  /// lane.
  [[nodiscard]] StepNeeds needs() const;
};

/// Schedules steps on lanes by list scheduling (Graham, "Bounds on Multiprocessing Timing
/// Anomalies", 1969).
///
/// Of the steps whose needs are scheduled, the one with the largest cost on its way to the end
/// comes next. It goes to the lane where it can begin first. Among equal lanes, the lane of the
/// need that ends last is taken, so that branches stay on their lanes. Deterministic.
[[nodiscard]] BranchSchedule schedule_branches(const StepNeeds& needs,
                                               std::span<const double> costs,
                                               std::size_t lanes);

/// Returns the number of lanes that a graph's branches can keep busy, at most `threads`. It is the
/// operations and bytes of all layers over those on the critical path, rounded, and at least two
/// above 1.1. 1 means that no branch is worth a lane.
[[nodiscard]] std::size_t useful_lanes(const model::Graph& graph, std::size_t threads);

}  // namespace plumb::engine
