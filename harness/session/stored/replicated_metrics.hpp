// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Two runs in which a stack was measured against itself.
struct SelfComparison {
  results::RunRecord first;
  results::RunRecord second;
};

/// Finds the stored calibrations of the same suite in the same environment, oldest first.
[[nodiscard]] std::vector<SelfComparison> stored_calibrations(const store::Store& store,
                                                              const results::RunHeader& like);

/// Reads what both sides of each round measured: layers and models end to end. Samples are in
/// seconds, less the harness overhead. A side without a time has no samples. The resolution of a
/// layer is the timer's tick ÷ the executions in a sample, or zero if the worker does not report
/// its tick.
[[nodiscard]] std::vector<analysis::ReplicatedMetric> replicated_metrics(
    const store::Store& store, std::span<const SelfComparison> calibrations);

}  // namespace plumb::session
