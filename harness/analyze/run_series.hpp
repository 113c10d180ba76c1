// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "harness/analyze/run_comparison.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Names what a run is one point of: one suite with one stack on one machine. Stack is the stack's
/// name, so that the series goes on when the library behind it is upgraded.
struct RunSeries {
  std::string suite;
  std::string backend;
  std::string stack;
  std::string threads;
  std::string system;  ///< see system_id()

  auto operator<=>(const RunSeries&) const = default;
};
[[nodiscard]] RunSeries run_series_of(const RunHeader& header);

/// Identifies the machine: 16 hex digits of the part of the identity that is neither the library's,
/// the driver's, the thread count's nor the method's.
[[nodiscard]] std::string system_id(const Environment& environment);

/// Returns whether two runs of one series may be compared. Their identities may differ only in the
/// library and the driver, which a series is there to watch.
[[nodiscard]] bool are_comparable(const Environment& one, const Environment& other);

/// Lists the facts that changed between two runs beside the library, the stack, the boot and what
/// varies from run to run anyway (load, clock of the moment, our own version and the harness's
/// floors).
[[nodiscard]] std::vector<EnvironmentDifference> environment_drift(const Environment& before,
                                                                   const Environment& after);

/// Lists every fact that changed between two runs but what varies from run to run anyway (load,
/// clock of the moment, the harness's floors): where a series changes, one of these may be why.
[[nodiscard]] std::vector<EnvironmentDifference> environment_changes(const Environment& before,
                                                                     const Environment& after);

}  // namespace plumb
