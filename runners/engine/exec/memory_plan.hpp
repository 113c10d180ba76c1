// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runners/engine/exec/step_order.hpp"

namespace plumb::engine {

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
