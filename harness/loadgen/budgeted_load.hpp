// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/base/units.hpp"
#include "harness/loadgen/load_generator.hpp"
#include "harness/loadgen/peak_search.hpp"

namespace plumb::loadgen {

/// Load as it was run within a budget, and its result.
struct BudgetedLoad {
  RequestedLoad requested;           ///< with the values found beforehand, and the budget
  std::optional<LoadResult> result;  ///< of a peak search: its last run; absent: there was none
  std::optional<PeakResult> peak;    ///< of server without a target rate
};

/// Loads a system within a budget, which bounds the time but never makes a result valid.
///
/// The budget is the maximum duration. `enter` is called with the name of each phase.
///
/// - Server without a target rate is searched for its peak. The probes take at most a minute or
///   twice the minimum duration, whichever is longer. They leave the confirmation its full
///   duration, or half of the budget.
/// - Offline without a fixed duration has one query. Its size follows from the expected rate, or
///   else from a short load before. If the budget does not allow for all its samples, the query is
///   cut, and the result says so by a shortfall of duration or count.
///
/// Throws as resolve_load().
[[nodiscard]] BudgetedLoad run_within(const RequestedLoad& asked,
                                      const std::optional<Seconds>& budget,
                                      SystemUnderTest& system,
                                      LoadClock& clock,
                                      const std::function<void(const std::string&)>& enter);

}  // namespace plumb::loadgen
