// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/measure/sampler.hpp"

namespace plumb::engine {

/// Cost of the harness itself, in two parts. One part is per sample (clock, synchronisation), the
/// other per execution (the call).
struct HarnessOverhead {
  Seconds sample{};
  Seconds execution{};

  /// Returns the cost per execution, for samples of `repetitions` executions.
  [[nodiscard]] Seconds at(std::size_t repetitions) const {
    return execution + sample / static_cast<double>(repetitions == 0 ? 1 : repetitions);
  }
};

/// Measures the overhead with an empty program on the path that every program takes. Times samples
/// of 1 and of 1,024 executions and splits their medians. Takes about a millisecond.
[[nodiscard]] HarnessOverhead measure_floor(const measure::Clock& clock);

}  // namespace plumb::engine
