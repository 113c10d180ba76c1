// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "harness/base/units.hpp"

namespace plumb {

/// One sample by a device's own clock: the time per execution and the number of executions.
struct DeviceSample {
  Seconds each{};     ///< where launching cancels out: a difference of two times, which a change of
                      ///< the clock between them makes too short or too long
  Seconds at_most{};  ///< of the longest run, launching included: never below the truth
  std::size_t executions = 1;
};

/// Additional interface of a Program whose device has a clock of its own. The harness takes samples
/// from it instead of timing enqueue() and synchronize().
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// Takes one sample over the slots in turn, without the time to launch and wait. Unless `again`,
  /// it is of one execution of the first slot.
  [[nodiscard]] virtual DeviceSample sample(std::span<const std::size_t> slots, bool again) = 0;
};

}  // namespace plumb
