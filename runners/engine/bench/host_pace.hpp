// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "harness/measure/sampler.hpp"

namespace plumb::engine {

/// Function that returns how long a fixed piece of work takes now. It is injected, so that tests
/// can script it.
using HostPaceSource = std::function<Seconds()>;

/// Fixed piece of work that shows whether another guest shares the core. It consists of additions
/// in independent chains, which take every instruction slot of the core.
///
/// A virtual machine is not told when a neighbour runs on the other hardware thread of its core. No
/// time is stolen and no task waits. But code that is bound by throughput takes a third longer or
/// more. The neighbour takes every second slot, whatever it does, so that these additions take 1.5
/// to 1.8 times as long. Floating-point work and reads of a cache show it less, because the
/// neighbour may use other units of the core.
class HostPace {
 public:
  explicit HostPace(measure::Clock clock) : clock_(std::move(clock)) {}
  /// Does the work four times and returns the median. Takes about 30 µs.
  [[nodiscard]] Seconds measure();

 private:
  measure::Clock clock_;
  std::uint64_t sum_ = 0;  // result of the work, so that the compiler cannot remove it
};

/// Returns a source that measures with the steady clock.
[[nodiscard]] HostPaceSource host_pace_source();

}  // namespace plumb::engine
