// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/base/units.hpp"

namespace plumb::worker {

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
  /// Takes one sample over the slots in turn, without the time to launch and wait.
  [[nodiscard]] virtual DeviceSample sample(std::span<const std::size_t> slots) = 0;

  /// Takes one sample of one execution of a slot. Just before it the device writes over `swept`
  /// bytes, so that its caches hold nothing else, and then executes slot `warm`, if there is one.
  /// The device is busy with that while the execution is launched.
  [[nodiscard]] virtual DeviceSample sample_cold(std::size_t slot,
                                                 Bytes swept,
                                                 std::optional<std::size_t> warm) = 0;
};

}  // namespace plumb::worker
