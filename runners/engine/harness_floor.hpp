// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/measure/sampler.hpp"

namespace plumb {

/// Cost of the harness itself: one part a sample (clock, synchronisation), one an execution (the
/// call).
struct HarnessFloor {
  Seconds sample{};
  Seconds execution{};

  /// Returns the cost per execution in samples of so many executions.
  [[nodiscard]] Seconds at(std::size_t repetitions) const {
    return execution + sample / static_cast<double>(repetitions == 0 ? 1 : repetitions);
  }
};

/// Times a program that does nothing along the path that every program takes, one and 1,024
/// executions a sample, and splits the medians. Takes about a millisecond.
[[nodiscard]] HarnessFloor measure_floor(const Clock& clock);

}  // namespace plumb
