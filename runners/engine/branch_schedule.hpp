// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/model/graph.hpp"
#include "runners/engine/step_order.hpp"

namespace plumb {

/// Assignment of steps to lanes, with the steps that each waits for. A lane is a thread or a team
/// of threads.
struct BranchSchedule {
  std::vector<std::vector<std::size_t>> lanes;  ///< the steps of each, in order; empty: no lanes
  StepNeeds waits;  ///< by step: the steps of other lanes that must have finished before

  /// What must have finished before each step: its waits, and its lane's step before.
  [[nodiscard]] StepNeeds needs() const;
};

/// Schedules steps on lanes by lists (Graham, "Bounds on Multiprocessing Timing Anomalies", 1969):
/// of the steps whose needs are scheduled the one with the most cost still behind it comes next, on
/// the lane where it can begin first; among equals on that of the need that ends last, so that
/// branches stay where they are. Deterministic.
[[nodiscard]] BranchSchedule schedule_branches(const StepNeeds& needs,
                                               std::span<const double> costs,
                                               std::size_t lanes);

/// Returns how many lanes a graph's branches can keep busy, at most `threads`: its operations and
/// bytes over those on its critical path, rounded, and at least two above 1.1. 1: it has no
/// branches worth a lane.
[[nodiscard]] std::size_t useful_lanes(const Graph& graph, std::size_t threads);

/// Prices work by what its spec says: operations, and bytes at eight operations each. For choosing
/// between steps only.
[[nodiscard]] double rough_cost(const LayerSpec& spec);

}  // namespace plumb
