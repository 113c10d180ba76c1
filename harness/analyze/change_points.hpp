// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumb {

/// Is where a series went to another level.
struct ChangePoint {
  std::size_t index = 0;  ///< first point of the new level, from 0
  double before = 0.0;    ///< median of the level left
  double after = 0.0;     ///< median of the level reached
  /// 1 − the expected number of change points that explain as much in a quiet series: 0.01 where
  /// the penalty is just met (by simulation), and e-fold less for every 2 of twice the
  /// log-likelihood.
  double confidence = 0.0;
};

/// Is a step at the end that too few points show yet: a reason to measure again, never to alarm.
struct Suspicion {
  std::size_t index = 0;
  double before = 0.0;
  double after = 0.0;
};

struct Detection {
  std::vector<ChangePoint> change_points;  ///< ascending
  std::vector<Suspicion> suspicions;       ///< at most one, in the last points
  bool two_states = false;  ///< jumps between two levels: its jumps are noise and not reported
};

/// Finds the steps in a series, oldest value first.
///
/// Least squares on values whose outliers are pulled in (beyond three deviations of a running
/// median), segmented exactly by dynamic programming (Jackson et al., IEEE Signal Processing
/// Letters 12(2), 2005, with the pruning of Killick et al., JASA 107, 2012, §3.2); the number of
/// segments is the one with the best penalised likelihood of first-order autocorrelated residuals.
/// A series that jumps to and fro between two separate levels has two states, not changes. The
/// penalty is calibrated on quiet series (docs/REGRESSIONS.md). Positive series are compared on
/// the logarithm. Series of fewer than ten points have no change points. Time: quadratic in the
/// length at worst. Throws Error{kUser} for a value that is not finite. Pure.
[[nodiscard]] Detection detect_changes(std::span<const double> values);

}  // namespace plumb
