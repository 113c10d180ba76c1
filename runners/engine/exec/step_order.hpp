// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::engine {

/// List, by step, of the steps that must finish before it begins.
using StepNeeds = std::vector<std::vector<std::size_t>>;

/// Lists all steps so that each comes after the steps that it needs. Throws Error{kInternal} if
/// steps need each other in a circle.
[[nodiscard]] std::vector<std::size_t> in_order(const StepNeeds& needs);

/// Partial order of a schedule's steps, which holds whatever runs side by side.
class StepOrder {
 public:
  /// Computes the order of all pairs of steps. Throws Error{kInternal} if steps need each other in
  /// a circle.
  explicit StepOrder(const StepNeeds& needs);

  /// Returns whether `earlier` always finishes before `later` begins. No step is before itself.
  [[nodiscard]] bool before(std::size_t earlier, std::size_t later) const;

 private:
  std::vector<std::vector<std::uint64_t>> reached_;  // by later step: a bit for each earlier one
};

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

/// Piece of memory that steps use. The first of `steps` makes it.
struct SharedPiece {
  std::size_t bytes = 0;
  std::vector<std::size_t> steps;  ///< at least one, ascending
};

/// Offsets of all pieces in one block of memory.
struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< of each piece, in order; multiples of the alignment
  std::size_t bytes = 0;             ///< of the block

  static constexpr std::size_t kAlignment = 64;         ///< of a host's cache line
  static constexpr std::size_t kDeviceAlignment = 256;  ///< what cuMemAlloc gives, and cuBLASLt's
                                                        ///< heuristic takes for granted
};

/// Places pieces so that no two that live at the same step share bytes. The steps run in their
/// order, and a piece lives from its first to its last, both included.
///
/// The largest piece comes first. Each gets the lowest offset that is free for all of its life
/// ("greedy by size", Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
/// Inference", 2020, §5.2). Deterministic.
[[nodiscard]] MemoryPlan plan_memory(std::span<const SharedPiece> pieces,
                                     std::size_t alignment = MemoryPlan::kAlignment);

/// Places pieces in the same way where steps may run side by side. Two pieces share bytes only if
/// all users of one always finish before the other is made.
[[nodiscard]] MemoryPlan plan_memory(std::span<const SharedPiece> pieces, const StepOrder& order);

}  // namespace plumb::engine
