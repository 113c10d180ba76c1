// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runners/engine/step_order.hpp"

namespace plumb {

/// Lifetime of one piece of memory in a schedule: its first and last step, both included.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Offsets of all pieces in one block of memory.
struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< of each lifetime, in order; multiples of kAlignment
  std::size_t bytes = 0;             ///< of the block

  static constexpr std::size_t kAlignment = 64;
};

/// Places pieces so that no two that live at the same step share bytes: the largest first, each at
/// the lowest offset that is free for all of its life ("greedy by size", Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020, §5.2). Deterministic.
[[nodiscard]] MemoryPlan plan_memory(std::span<const Lifetime> lifetimes);

/// Piece of memory that steps of a partial order use. The step that makes it comes first.
struct SharedPiece {
  std::size_t bytes = 0;
  std::vector<std::size_t> steps;  ///< at least one
};

/// Places pieces likewise where steps may run side by side: two share bytes only if all that use
/// the one have finished before the other is made, whatever else happens.
[[nodiscard]] MemoryPlan plan_memory(std::span<const SharedPiece> pieces, const StepOrder& order);

}  // namespace plumb
