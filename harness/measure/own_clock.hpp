// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/base/units.hpp"

namespace plumb {

/// Is one sample that was taken by a clock other than the harness's.
struct OwnSample {
  Seconds each{};
  std::size_t repetitions = 1;
};

/// Is what a TimedRegion is beside that can have a clock of its own (a GPU's): then run() is not
/// timed, and nothing of the harness is in its samples.
class OwnClock {
 public:
  virtual ~OwnClock() = default;
  [[nodiscard]] virtual bool has_clock() const = 0;
  /// Takes a sample with as many executions as the clock needs.
  [[nodiscard]] virtual OwnSample own_sample() = 0;
};

}  // namespace plumb
