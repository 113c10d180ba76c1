// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::engine {

/// List, by step, of the steps that must finish before it begins.
using StepNeeds = std::vector<std::vector<std::size_t>>;

/// Lists all steps so that each comes after the steps that it needs. Throws Error{kInternal} if
/// steps need each other in a circle.
[[nodiscard]] std::vector<std::size_t> in_order(const StepNeeds& needs);

/// Assignment of steps to lanes, with the steps that each one waits for. A lane is a thread or a
/// team of threads.
struct BranchSchedule {
  /// Team of threads that execute one task after another together. The caller is lane 0. Between
  /// two tasks the threads spin for a short time, then sleep.
  class Team {
   public:
    /// Starts `lanes` - 1 threads. Each first calls `begin` with its lane. Throws
    /// std::system_error.
    Team(std::size_t lanes, const std::function<void(std::size_t lane)>& begin);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    Team(Team&&) = delete;
    Team& operator=(Team&&) = delete;

    /// Calls `work` once for each lane, all at the same time, and returns when all calls are done.
    /// `work` must not throw. Must be called from one thread at a time.
    void run(const std::function<void(std::size_t lane)>& work);

   private:
    void serve(std::size_t lane);
    void await_piece(std::uint64_t done) const;

    const std::function<void(std::size_t)>* work_ = nullptr;
    std::atomic<std::uint64_t> piece_{0};  // counts tasks; the last one ends the threads
    std::atomic<std::size_t> busy_{0};     // threads that have not finished the current task
    std::atomic<bool> leave_{false};
    std::vector<std::thread> threads_;
  };

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

/// Offsets of all pieces in one block of memory.
struct MemoryPlan {
  /// Partial order of a schedule's steps, which holds whatever runs side by side.
  class Order {
   public:
    /// Computes the order of all pairs of steps. Throws Error{kInternal} if steps need each other
    /// in a circle.
    explicit Order(const StepNeeds& needs);

    /// Returns whether `earlier` always finishes before `later` begins. No step is before itself.
    [[nodiscard]] bool before(std::size_t earlier, std::size_t later) const;

   private:
    std::vector<std::vector<std::uint64_t>> reached_;  // by later step: a bit for each earlier one
  };

  /// Piece of memory that steps use. The first of `steps` makes it.
  struct Piece {
    std::size_t bytes = 0;
    std::vector<std::size_t> steps;  ///< at least one, ascending
  };

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
[[nodiscard]] MemoryPlan plan_memory(std::span<const MemoryPlan::Piece> pieces,
                                     std::size_t alignment = MemoryPlan::kAlignment);

/// Places pieces in the same way where steps may run side by side. Two pieces share bytes only if
/// all users of one always finish before the other is made.
[[nodiscard]] MemoryPlan plan_memory(std::span<const MemoryPlan::Piece> pieces,
                                     const MemoryPlan::Order& order);

/// Waits until `ready` returns true. Spins first, and yields to other threads after a while.
void spin_until(const std::function<bool()>& ready);

}  // namespace plumb::engine
