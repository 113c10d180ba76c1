// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "harness/base/units.hpp"

namespace plumb {

/// Is one sample by a device's own clock: the time of each of so many executions.
struct DeviceSample {
  Seconds each{};
  std::size_t executions = 1;
};

/// Is what a Program is beside whose device has a clock of its own: it is asked for samples, and
/// enqueue() and synchronize() are not timed.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// Takes one sample over the slots in turn, launching and waiting left out; unless `again`, of
  /// one execution of the first slot.
  [[nodiscard]] virtual DeviceSample sample(std::span<const std::size_t> slots, bool again) = 0;
};

}  // namespace plumb
