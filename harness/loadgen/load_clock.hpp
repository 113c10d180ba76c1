// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "harness/loadgen/completion_count.hpp"

namespace plumb::loadgen {

/// Clock that a load runs by. It is injected, so that tests can script it, and outlives the system
/// under test.
class LoadClock {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  virtual ~LoadClock() = default;
  /// Returns the time since an arbitrary moment, which never goes back. Any thread may call it.
  [[nodiscard]] virtual Nanoseconds now() const = 0;
  /// Waits for `deadline` and returns the time. Returns at once if it is past.
  virtual Nanoseconds wait_until(Nanoseconds deadline) = 0;
  /// Waits until `count` is at least `target`, or `deadline` has come. Returns whether the count is
  /// reached.
  virtual bool wait_for(CompletionCount& count, std::uint64_t target, Nanoseconds deadline) = 0;
};

/// Makes a clock that reads the steady clock. It sleeps, and spins for the last 200 µs before a
/// deadline, because sleeps end some 75 µs late. For a completion it spins 20 µs before it sleeps.
/// The deadlines are absolute, so that waits do not add up to a drift.
[[nodiscard]] std::unique_ptr<LoadClock> make_steady_load_clock();

}  // namespace plumb::loadgen
