// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace plumb {

/// One place where a series went to another level.
struct ChangePoint {
  std::size_t index = 0;  ///< first point of the new level, from 0
  double before = 0.0;    ///< median of the level left
  double after = 0.0;     ///< median of the level reached
  /// 1 − the expected number of change points that explain as much in a quiet series: 0.99 where
  /// the penalty is just met (by simulation), and e-fold nearer one for every 2 of twice the
  /// log-likelihood.
  double confidence = 0.0;
};

/// One step at the end that too few points show yet: a reason to measure again, never to alarm.
struct Suspicion {
  std::size_t index = 0;
  double before = 0.0;
  double after = 0.0;
};

/// One change of a series with two states that leaves the other level where it was.
struct StateChange {
  enum class Kind {
    kLowLevel,   ///< the level of the lower state
    kHighLevel,  ///< the level of the higher state
    kHighShare   ///< the share of points in the higher state
  };
  Kind kind = Kind::kHighShare;
  std::size_t index = 0;  ///< first point after it
  double before = 0.0;    ///< level or share
  double after = 0.0;
  double confidence = 0.0;
};

[[nodiscard]] std::string_view to_text(StateChange::Kind kind);  ///< "low_level", …

/// One steady drift of a series: little by little, without a step.
struct Trend {
  double slope = 0.0;   ///< mean change a point, in the unit of the series
  double before = 0.0;  ///< level at the first point, by the drift alone
  double after = 0.0;   ///< level at the last point
  double confidence = 0.0;
};

/// One change of the scatter around the level.
struct VarianceChange {
  std::size_t index = 0;
  double before =
      0.0;  ///< deviation relative to the level; absolute for values that are not positive
  double after = 0.0;
  double confidence = 0.0;
};

/// What one history says.
struct Detection {
  std::vector<ChangePoint> change_points;  ///< ascending
  std::vector<Suspicion> suspicions;       ///< at most one, in the last points
  bool two_states = false;                 ///< jumps between two levels: noise, not changes
  std::vector<StateChange> state_changes;  ///< ascending; of a series with two states only
  std::optional<Trend> creep;
  std::optional<std::vector<VarianceChange>> variance_changes;  ///< ascending; if asked for
};

/// What is looked for.
struct DetectionOptions {
  bool variance = false;
};

/// Finds what changed in a series, oldest value first.
///
/// Chooses by penalised likelihood among a constant, steps, a trend, steps on a trend, and two
/// states, all with first-order autocorrelated noise; docs/reference/change-detection.md has the
/// method. A NaN is a missing point: indices count it, neighbours are the points that are there.
/// Series of fewer than ten points have no change points. Positive series are compared on the
/// logarithm. Time: quadratic in the length at worst. Throws Error{kUser} for infinities. Pure.
[[nodiscard]] Detection detect_changes(std::span<const double> values,
                                       const DetectionOptions& options = {});

}  // namespace plumb
