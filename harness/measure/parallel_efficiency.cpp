// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/parallel_efficiency.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace plumb::measure {
namespace {

/// Computes a chain of multiplications and shifts (splitmix64's finaliser). The compiler can
/// neither skip nor vectorise it.
std::uint64_t spin(std::uint64_t rounds, std::uint64_t state) {
  for (std::uint64_t i = 0; i < rounds; ++i) {
    state = (state ^ (state >> 30U)) * 0xbf58476d1ce4e5b9ULL + i;
  }
  return state;
}

Seconds now() {
  return Seconds(std::chrono::steady_clock::now().time_since_epoch());
}

Seconds measure_time(int threads, std::uint64_t rounds) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<std::uint64_t> sink{0};
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    others.emplace_back([&, i] {
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) {
        std::this_thread::yield();
      }
      sink.fetch_add(spin(rounds, static_cast<std::uint64_t>(i)));
    });
  }
  while (ready.load() < threads) {
    std::this_thread::yield();
  }
  const Seconds begin = now();
  go.store(true, std::memory_order_release);
  for (std::thread& other : others) {
    other.join();
  }
  return now() - begin;
}

}  // namespace

double measure_parallel_efficiency(int threads, Seconds work) {
  if (threads < 2) {
    return 1.0;
  }
  constexpr std::uint64_t kProbe = 200'000;
  const Seconds probe = measure_time(1, kProbe);
  const double scale = std::clamp(work / std::max(probe, Seconds(1e-6)), 1.0, 1e6);
  const auto rounds = static_cast<std::uint64_t>(static_cast<double>(kProbe) * scale);
  double best = 0.0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Seconds one = measure_time(1, rounds);
    const Seconds all = measure_time(threads, rounds);
    best = std::max(best, std::min(1.0, one / all));
  }
  return best;
}

}  // namespace plumb::measure
