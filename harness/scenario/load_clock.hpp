// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "harness/scenario/completion_count.hpp"

namespace plumb {

/// Clock that a load runs by. Injected, so that tests can script it. Outlives the system under
/// test.
class LoadClock {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  virtual ~LoadClock() = default;
  /// Reads the time since an arbitrary moment; never goes back. From any thread.
  [[nodiscard]] virtual Nanoseconds now() const = 0;
  /// Returns the time once `deadline` has come: at once if it is past.
  virtual Nanoseconds wait_until(Nanoseconds deadline) = 0;
  /// Waits until `count` is at least `target`, or `deadline` has come. Tells whether it is.
  virtual bool wait_for(CompletionCount& count, std::uint64_t target, Nanoseconds deadline) = 0;
};

/// Makes the real one: the steady clock. It sleeps while there is time and spins for the last 200
/// µs, because sleeps end some 75 µs late; for a completion it spins 20 µs before it sleeps. The
/// deadlines are absolute: waits do not add up to a drift.
[[nodiscard]] std::unique_ptr<LoadClock> make_steady_load_clock();

}  // namespace plumb
