// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analyze/noise_calibration.hpp"
#include "harness/store/store.hpp"

namespace plumb {

/// Names the two runs that a stack was measured against itself in.
struct SelfComparison {
  RunRecord first;
  RunRecord second;
};

/// Finds the stored calibrations of the same suite in the same environment, oldest first.
[[nodiscard]] std::vector<SelfComparison> stored_calibrations(const Store& store,
                                                              const RunHeader& like);

/// Reads what both sides of each round measured: layers and models end to end, floor-corrected
/// samples. A side without a time has no samples. The resolution of a layer is the timer's tick
/// divided by the executions in a sample; zero where the worker has not told its tick.
[[nodiscard]] std::vector<ReplicatedMetric> replicated_metrics(
    const Store& store, std::span<const SelfComparison> calibrations);

}  // namespace plumb
