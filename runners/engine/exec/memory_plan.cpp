// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/memory_plan.hpp"

#include <algorithm>
#include <iterator>
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

bool live_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
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

/// Places pieces of the given sizes, the largest first. `together(a, b)` returns whether two pieces
/// must not share bytes.
template <typename Together>
MemoryPlan placed(const std::vector<std::size_t>& sizes,
                  std::size_t alignment,
                  const Together& together) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sizes[a] > sizes[b];
  });
  MemoryPlan plan;
  plan.offsets.resize(sizes.size());
  std::vector<std::size_t> done;
  for (const std::size_t index : order) {
    std::vector<Placed> neighbours;
    for (const std::size_t other : done) {
      if (together(index, other)) {
        neighbours.push_back(
            {plan.offsets[other], plan.offsets[other] + aligned(sizes[other], alignment)});
      }
    }
    std::sort(neighbours.begin(), neighbours.end(), [](const Placed& a, const Placed& b) {
      return a.begin < b.begin;
    });
    const std::size_t bytes = aligned(sizes[index], alignment);
    plan.offsets[index] = lowest_gap(neighbours, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[index] + bytes);
    done.push_back(index);
  }
  return plan;
}

template <typename Piece>
std::vector<std::size_t> sizes_of(std::span<const Piece> pieces) {
  std::vector<std::size_t> sizes;
  std::transform(pieces.begin(), pieces.end(), std::back_inserter(sizes), [](const Piece& piece) {
    return piece.bytes;
  });
  return sizes;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, std::size_t alignment) {
  return placed(sizes_of(lifetimes), alignment, [&](std::size_t a, std::size_t b) {
    return live_together(lifetimes[a], lifetimes[b]);
  });
}

MemoryPlan plan_memory(std::span<const SharedPiece> pieces, const StepOrder& order) {
  return placed(sizes_of(pieces), MemoryPlan::kAlignment, [&](std::size_t a, std::size_t b) {
    return !ends_before(pieces[a], pieces[b], order) && !ends_before(pieces[b], pieces[a], order);
  });
}

}  // namespace plumb::engine
