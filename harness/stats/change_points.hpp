// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/stats/series_change.hpp"

namespace plumb::stats {

/// One steady drift of a series, without a step.
struct Trend {
  double slope = 0.0;   ///< mean change a point, in the unit of the series
  double before = 0.0;  ///< level at the first point, by the drift alone
  double after = 0.0;   ///< level at the last point
  double confidence = 0.0;
};

/// Changes that were found in one series.
struct Detection {
  /// One step at the end that too few points show yet. It is a reason to measure again, never to
  /// alarm.
  struct Suspicion {
    std::size_t index = 0;
    double before = 0.0;
    double after = 0.0;
  };

  std::vector<ChangePoint> change_points;  ///< ascending
  std::vector<Suspicion> suspicions;       ///< at most one, in the last points
  bool two_states = false;                 ///< jumps between two levels: noise, not changes
  std::vector<StateChange> state_changes;  ///< ascending; of a series with two states only
  std::optional<Trend> creep;
  std::optional<std::vector<ChangePoint>>
      variance_changes;  ///< of the scatter, ascending; if requested
};

/// Finds the changes of a series, oldest value first. With `variance` also those of its scatter.
///
/// Chooses by penalised likelihood among a constant, steps, a trend, steps on a trend, two states,
/// and a level that wanders. All but the last two have autocorrelated noise of the first order.
/// docs/reference/change-detection.md has the method. A NaN is a missing point: indices count it,
/// and its neighbours become neighbours of each other. Series of fewer than ten points have no
/// change points. Positive series are compared on the logarithm. Time: quadratic in the length at
/// worst. Throws Error{kUser} for infinities. Pure.
[[nodiscard]] Detection detect_changes(std::span<const double> values, bool variance = false);

}  // namespace plumb::stats
