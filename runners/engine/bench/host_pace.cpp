// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/host_pace.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace plumb::engine {
namespace {

constexpr std::size_t kChains = 8;      // of additions: more than a core adds in a cycle
constexpr std::size_t kLinks = 12'000;  // of each chain
constexpr std::size_t kTries = 4;

/// Adds along all chains. The barrier keeps the compiler from merging the additions.
std::uint64_t add_along_chains(std::uint64_t start) {
  std::array<std::uint64_t, kChains> chains{};
  chains.fill(start);
  for (std::size_t link = 0; link < kLinks; ++link) {
    for (std::uint64_t& chain : chains) {
      chain += 1;
      asm volatile("" : "+r"(chain));
    }
  }
  return chains.front();
}

}  // namespace

Seconds HostPace::measure() {
  std::array<Seconds, kTries> taken{};
  for (Seconds& each : taken) {
    const Seconds begin = clock_();
    sum_ = add_along_chains(sum_);
    each = clock_() - begin;
  }
  std::sort(taken.begin(), taken.end());
  return (taken[kTries / 2 - 1] + taken[kTries / 2]) / 2.0;
}

HostPaceSource host_pace_source() {
  return [pace = HostPace(measure::steady_clock())]() mutable { return pace.measure(); };
}

}  // namespace plumb::engine
