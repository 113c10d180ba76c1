// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/stats/segmentation.hpp"

namespace plumb::stats {

/// One place where a series changes to another level, or to another scatter around its level.
struct ChangePoint {
  std::size_t index = 0;  ///< first point of the new level, from 0
  double before = 0.0;    ///< median of the earlier level; or its deviation relative to the level,
                          ///< absolute for values that are not positive
  double after = 0.0;     ///< likewise of the later level
  /// 1 − the expected number of change points in a quiet series that explain as much. By simulation
  /// it is 0.99 where the penalty is just met. The rest is divided by e for every 2 gained in twice
  /// the log-likelihood.
  double confidence = 0.0;
};

/// Cumulated relative rise from which creep is reported.
inline constexpr double kMinCreep = 0.05;

/// Changes that were found in one series.
struct Detection {
  /// One change of a series with two states that does not change both levels alike. It is a change
  /// of a level or of a share.
  struct StateChange : ChangePoint {
    enum class Kind {
      kLowLevel,   ///< the level of the lower state
      kHighLevel,  ///< the level of the higher state
      kHighShare   ///< the share of points in the higher state
    };
    Kind kind = Kind::kHighShare;
  };

  /// Gradual rise of a series' level by steps that are each too small to be detected.
  struct Creep {
    std::size_t best_index = 0;  ///< middle of the window of the best level
    double best = 0.0;           ///< median of that window
    double newest = 0.0;         ///< median of the newest window
  };

  /// One steady drift of a series, without a step.
  struct Trend {
    double slope = 0.0;   ///< mean change a point, in the unit of the series
    double before = 0.0;  ///< level at the first point, by the drift alone
    double after = 0.0;   ///< level at the last point
    double confidence = 0.0;
  };

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

[[nodiscard]] std::string_view to_text(Detection::StateChange::Kind kind);  ///< "low_level", …

/// Compares the newest level of a series with the best one that it has had. Both are medians of
/// eleven points.
///
/// The rise must reach kMinCreep and six standard errors of such a median. The errors come from
/// medians of adjacent windows, so that autocorrelated noise counts in full. Needs 55 positive
/// values, oldest first. Absent: fewer values, or no creep. Pure.
[[nodiscard]] std::optional<Detection::Creep> find_creep(std::span<const double> values);

/// Finds the changes of a series with two states. Absent: the levels that were chosen explain it
/// better than two states do, by likelihood. `values` are those that `scaled` is made of.
[[nodiscard]] std::optional<Detection> find_two_state_changes(std::span<const double> values,
                                                              const ScaledSeries& scaled,
                                                              const StepPath& levels);

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
