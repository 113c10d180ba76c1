// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumb {

/// Two levels between which a series jumps: a hidden Markov model with one deviation.
struct TwoStateModel {
  double low = 0.0;
  double high = 0.0;
  std::vector<char> is_high;  ///< by point: the most likely states
  double score = 0.0;         ///< −2 log-likelihood plus penalties; comparable with score_levels
};

/// Fits two states to values around one level. Absent: the values have no two separate levels, or
/// stay in them as levels that change do.
///
/// Levels are separate if they lie four deviations apart and the rarer one holds a tenth of the
/// points. Evidence of noise are short stays: at least four of two points or more, one in fourteen
/// points; or twelve levels of five points.
[[nodiscard]] std::optional<TwoStateModel> fit_two_states(std::span<const double> values);

/// Returns −2 log-likelihood of values around given levels with autocorrelated noise of the first
/// order, outliers allowed for as `fit_two_states` does.
[[nodiscard]] double score_levels(std::span<const double> residuals,
                                  double correlation,
                                  double variance);

}  // namespace plumb
