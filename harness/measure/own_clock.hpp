// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/base/units.hpp"

namespace plumb::measure {

/// One sample taken by a clock other than the harness's.
struct OwnSample {
  Seconds each{};
  Seconds at_most{};  ///< an execution with its share of launching, which `each` leaves out
  std::size_t repetitions = 1;
};

/// Additional interface of a TimedRegion that may have a clock of its own, such as a GPU's. With
/// such a clock run() is not timed, and the samples contain nothing of the harness.
class OwnClock {
 public:
  virtual ~OwnClock() = default;
  [[nodiscard]] virtual bool has_clock() const = 0;
  /// Takes a sample of as many executions as the clock needs.
  [[nodiscard]] virtual OwnSample own_sample() = 0;
};

}  // namespace plumb::measure
