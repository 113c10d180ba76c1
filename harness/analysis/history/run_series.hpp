// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Identity of the series to which a run belongs: one suite with one stack on one machine. `stack`
/// is the stack's name, so that the series continues when the library behind it is upgraded.
struct RunSeries {
  std::string suite;
  std::string backend;
  std::string stack;
  std::string threads;
  std::string system;  ///< see system_id()

  auto operator<=>(const RunSeries&) const = default;
};
[[nodiscard]] RunSeries run_series_of(const results::RunHeader& header);

/// Returns the part of an environment's identity that is of the machine. It leaves out the stack,
/// the driver, the backend, the thread count, the method, the cache, and which of several equal
/// GPUs was measured.
[[nodiscard]] results::Facts system_identity(const results::Environment& environment);
/// Returns the identity of the machine as 16 hex digits: that of its system_identity().
[[nodiscard]] std::string system_id(const results::Environment& environment);

/// Returns whether two runs of one series may be compared. Their identities may differ only in the
/// stack and the driver, whose changes a series is meant to show, and in which of several equal
/// GPUs was measured.
[[nodiscard]] bool are_comparable(const results::Environment& one,
                                  const results::Environment& other);

/// Lists the facts that changed between two runs, without those that environment_changes() leaves
/// out. Changes of the library, the stack, the boot, the worker, the backend and Plumbline itself
/// are left out too.
[[nodiscard]] std::vector<EnvironmentDifference> environment_drift(
    const results::Environment& before, const results::Environment& after);

/// Lists every fact that changed between two runs, except readings of the moment (is_reading()):
/// load, clocks and the harness overhead. Where a series changes, one of these facts may be why.
[[nodiscard]] std::vector<EnvironmentDifference> environment_changes(
    const results::Environment& before, const results::Environment& after);

}  // namespace plumb::analysis
