// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumb::stats {

/// Two levels between which a series jumps, as a hidden Markov model with one deviation.
struct TwoStateModel {
  double low = 0.0;
  double high = 0.0;
  std::vector<char> is_high;  ///< by point: the most likely states
  double score = 0.0;         ///< −2 log-likelihood plus penalties; comparable with score_levels
};

/// Fits two states to values around one level. Absent: the values have no two separate levels, or
/// stay in each so long that they are levels of a series with steps.
///
/// Levels are separate if they are more than four deviations apart and the rarer one has a tenth of
/// the points. The stays must look like noise: at least four stays of two points or more, and one
/// in fourteen points; or twelve levels of five points.
[[nodiscard]] std::optional<TwoStateModel> fit_two_states(std::span<const double> values);

/// Returns −2 log-likelihood of values around given levels, with autocorrelated noise of the first
/// order. Outliers are allowed for as in fit_two_states().
[[nodiscard]] double score_levels(std::span<const double> residuals,
                                  double correlation,
                                  double variance);

}  // namespace plumb::stats
