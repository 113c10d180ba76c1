// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace plumb {
namespace {

struct Placed {
  std::size_t begin;
  std::size_t end;
};

std::size_t aligned(std::size_t bytes) {
  return (bytes + MemoryPlan::kAlignment - 1) / MemoryPlan::kAlignment * MemoryPlan::kAlignment;
}

bool live_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Returns the lowest offset at which `bytes` fit between pieces sorted by where they begin.
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

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  std::vector<std::size_t> done;
  for (const std::size_t index : order) {
    std::vector<Placed> neighbours;
    for (const std::size_t other : done) {
      if (live_together(lifetimes[index], lifetimes[other])) {
        neighbours.push_back(
            {plan.offsets[other], plan.offsets[other] + aligned(lifetimes[other].bytes)});
      }
    }
    std::sort(neighbours.begin(), neighbours.end(), [](const Placed& a, const Placed& b) {
      return a.begin < b.begin;
    });
    const std::size_t bytes = aligned(lifetimes[index].bytes);
    plan.offsets[index] = lowest_gap(neighbours, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[index] + bytes);
    done.push_back(index);
  }
  return plan;
}

}  // namespace plumb
