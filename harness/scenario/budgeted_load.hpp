// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/base/units.hpp"
#include "harness/scenario/load_generator.hpp"
#include "harness/scenario/peak_search.hpp"

namespace plumb {

/// Load with nothing left to guess, and its result.
struct BudgetedLoad {
  RequestedLoad requested;           ///< with what was found out beforehand, and the budget
  std::optional<LoadResult> result;  ///< of a peak search: its last run; absent: there was none
  std::optional<PeakResult> peak;    ///< of server without a target rate
};

/// Loads a system within a budget, which bounds the time but never makes a result valid.
///
/// The budget is the maximum duration. Server without a target rate is searched for its peak, with
/// at least half of the budget for the probes. The one query of offline without a fixed duration is
/// sized by the expected rate, or else by a short load before; where the budget does not allow for
/// all its samples it is cut, and the result says so (duration or count). `enter` is told each
/// phase. Throws as resolve_load().
[[nodiscard]] BudgetedLoad run_within(const RequestedLoad& asked,
                                      const std::optional<Seconds>& budget,
                                      SystemUnderTest& system,
                                      LoadClock& clock,
                                      const std::function<void(const std::string&)>& enter);

}  // namespace plumb
