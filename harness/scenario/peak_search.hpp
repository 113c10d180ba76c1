// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/scenario/load_generator.hpp"

namespace plumb {

/// Settings of the search for the highest rate at which Server's latency limit is kept.
struct PeakSearch {
  Seconds probe_duration{1.0};   ///< at least; longer where early stopping needs more queries
  std::uint64_t probe_over = 5;  ///< queries over the limit that the shortest probe can bear
  double precision = 0.05;  ///< relative: ends when a failed rate is so close above a passed one
  std::uint64_t probes_at_most = 40;
  std::uint64_t confirmations_at_most = 3;  ///< full runs, each at a rate lower by the precision
  /// After which no probe starts: the rest of the budget is the confirmation's.
  std::optional<Seconds> probe_budget;
  /// After which nothing starts; a confirmation under way ends there.
  std::optional<Seconds> budget;
};

struct PeakProbe {
  enum class Purpose { kUnloaded, kProbe, kConfirmation };
  Purpose purpose = Purpose::kProbe;
  double rate = 0.0;  ///< queries a second; of kUnloaded: what single_stream reached
  LoadResult result;
};

[[nodiscard]] std::string_view to_text(PeakProbe::Purpose purpose);  ///< "unloaded", "probe", …

struct PeakResult {
  std::optional<double> rate;   ///< queries a second, confirmed by a valid full run: the last probe
  double highest_passed = 0.0;  ///< of the probes; 0: none
  std::optional<double> lowest_failed;
  std::vector<PeakProbe> probes;  ///< all, in order
  /// Why there is no rate, or why the search ended before it was precise; else empty.
  std::string reason;
};

/// Finds the highest valid rate of a Server load.
///
/// Starts at the load's target rate, or else at the rate of a short single_stream load (which also
/// warms up); doubles it while probes pass, or halves it until one does; then bisects. A probe is a
/// short run under the same rules, early stopping included, with queries enough that some may be
/// late; it ends as soon as it cannot pass any more. All probes have the same arrivals, stretched.
/// The rate found is confirmed by a run of the load's full duration and count. Throws Error{kUser}
/// if the load is not Server's in performance mode, or the search's numbers make no sense.
[[nodiscard]] PeakResult find_peak(const EffectiveLoad& load,
                                   const PeakSearch& search,
                                   SystemUnderTest& system,
                                   LoadClock& clock);

}  // namespace plumb
