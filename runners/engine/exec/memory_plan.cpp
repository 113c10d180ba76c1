// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace plumb::engine {
namespace {

struct Placed {
  std::size_t begin;
  std::size_t end;
};

std::size_t aligned(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool live_together(const SharedPiece& a, const SharedPiece& b) {
  return a.steps.front() <= b.steps.back() && b.steps.front() <= a.steps.back();
}

/// Returns the lowest offset at which `bytes` fit between pieces that are sorted by their begin.
std::size_t lowest_gap(const std::vector<Placed>& pieces, std::size_t bytes) {
  std::size_t offset = 0;
  for (const Placed& piece : pieces) {
    if (offset + bytes <= piece.begin) {
      break;
    }
    offset = std::max(offset, piece.end);
  }
  return offset;
}

/// Returns whether all uses of `earlier` always finish before `later` is written.
bool ends_before(const SharedPiece& earlier, const SharedPiece& later, const StepOrder& order) {
  return std::all_of(earlier.steps.begin(), earlier.steps.end(), [&](std::size_t step) {
    return order.before(step, later.steps.front());
  });
}

/// Places pieces, the largest first. `together(a, b)` returns whether two of them must not share
/// bytes.
template <typename Together>
MemoryPlan placed(std::span<const SharedPiece> pieces,
                  std::size_t alignment,
                  const Together& together) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return pieces[a].bytes > pieces[b].bytes;
  });
  MemoryPlan plan;
  plan.offsets.resize(pieces.size());
  std::vector<std::size_t> done;
  for (const std::size_t index : order) {
    std::vector<Placed> neighbours;
    for (const std::size_t other : done) {
      if (together(pieces[index], pieces[other])) {
        neighbours.push_back(
            {plan.offsets[other], plan.offsets[other] + aligned(pieces[other].bytes, alignment)});
      }
    }
    std::sort(neighbours.begin(), neighbours.end(), [](const Placed& a, const Placed& b) {
      return a.begin < b.begin;
    });
    const std::size_t bytes = aligned(pieces[index].bytes, alignment);
    plan.offsets[index] = lowest_gap(neighbours, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[index] + bytes);
    done.push_back(index);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(std::span<const SharedPiece> pieces, std::size_t alignment) {
  return placed(pieces, alignment, live_together);
}

MemoryPlan plan_memory(std::span<const SharedPiece> pieces, const StepOrder& order) {
  return placed(pieces, MemoryPlan::kAlignment, [&](const SharedPiece& a, const SharedPiece& b) {
    return !ends_before(a, b, order) && !ends_before(b, a, order);
  });
}

}  // namespace plumb::engine
