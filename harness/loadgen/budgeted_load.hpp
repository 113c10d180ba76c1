// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/loadgen/load_generator.hpp"

namespace plumb::loadgen {

/// Load as it was run within a budget, and its result.
struct BudgetedLoad {
  /// Settings of the search for the highest rate that keeps Server's latency limit.
  struct Search {
    Seconds probe_duration{1.0};   ///< at least; longer where early stopping needs more queries
    std::uint64_t probe_over = 5;  ///< queries over the limit that the shortest probe allows
    double precision = 0.05;  ///< relative: ends when a failed rate is so close above a passed one
    std::uint64_t probes_at_most = 40;
    std::uint64_t confirmations_at_most = 3;  ///< full runs, each at a rate lower by the precision
    /// Time after which no probe starts. The rest of the budget is for the confirmation.
    std::optional<Seconds> probe_budget;
    /// Time after which nothing starts. A confirmation that runs then ends.
    std::optional<Seconds> budget;
  };

  /// One run of a peak search.
  struct Probe {
    enum class Purpose { kUnloaded, kProbe, kConfirmation };
    Purpose purpose = Purpose::kProbe;
    double rate = 0.0;  ///< queries a second; of kUnloaded: what single_stream reached
    LoadResult result;
  };

  /// Result of a peak search, with all its runs.
  struct Peak {
    std::optional<double>
        rate;  ///< queries a second, confirmed by a valid full run: the last probe
    double highest_passed = 0.0;  ///< of the probes; 0: none
    std::optional<double> lowest_failed;
    std::vector<Probe> probes;  ///< all, in order
    /// Reason why there is no rate, or why the search ended before it was precise. Else empty.
    std::string reason;
  };

  RequestedLoad requested;           ///< with the values found beforehand, and the budget
  std::optional<LoadResult> result;  ///< of a peak search: its last run; absent: there was none
  std::optional<Peak> peak;          ///< of server without a target rate
};

[[nodiscard]] std::string_view to_text(
    BudgetedLoad::Probe::Purpose purpose);  ///< "unloaded", "probe", …

/// Finds the highest valid rate of a Server load.
///
/// The search starts at the load's target rate, or else at the rate of a short single_stream load,
/// which also warms up. It doubles the rate while probes pass, or halves it until one does, and
/// then bisects. A run of the load's full duration and count confirms the rate.
///
/// A probe is a short run under the same rules, early stopping included. It has so many queries
/// that some may be late, and ends as soon as it can no longer pass. All probes have the same
/// arrivals, scaled in time. Throws Error{kUser} unless the load is Server's, in performance mode
/// and with a latency limit, and for settings outside their ranges.
[[nodiscard]] BudgetedLoad::Peak find_peak(const EffectiveLoad& load,
                                           const BudgetedLoad::Search& search,
                                           SystemUnderTest& system,
                                           LoadClock& clock);

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
