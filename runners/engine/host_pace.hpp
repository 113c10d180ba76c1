// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "harness/measure/sampler.hpp"

namespace plumb {

/// Returns how long a fixed piece of work takes now; injected, so that tests can script it.
using HostPaceSource = std::function<Seconds()>;

/// Fixed piece of work that shows whether somebody shares the core: additions in independent
/// chains, which take every instruction slot that the core has.
///
/// A virtual machine is not told when a neighbour runs on the other hardware thread of its core: no
/// time is stolen, no task waits, and code that is bound by throughput takes a third longer or
/// more. The neighbour takes every second slot, whatever it does, so that these additions take 1.5
/// to 1.8 times as long. Floating-point work and reads of a cache show it less, for the neighbour
/// may use others of the core's units.
class HostPace {
 public:
  explicit HostPace(Clock clock) : clock_(std::move(clock)) {}
  /// Does the work four times, in 30 µs in all; returns the median.
  [[nodiscard]] Seconds measure();

 private:
  Clock clock_;
  std::uint64_t sum_ = 0;  // carried on, so that nothing can be left out
};

/// Returns a source that measures with the steady clock.
[[nodiscard]] HostPaceSource host_pace_source();

}  // namespace plumb
