// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/stats/segmentation.hpp"

namespace plumb::stats {

/// Levels of a series on top of a smooth trend.
struct TrendModel {
  StepModel steps;            ///< of the values less the trend; its score includes the trend
  std::vector<double> trend;  ///< by point, around zero; empty: none
  std::size_t degree = 0;
  double surplus = 0.0;  ///< gain of the trend over the levels alone
};

/// Chooses among levels, a trend, and levels on a trend, by penalised likelihood.
///
/// A trend is a polynomial of degree 1, 3 or 5, so that a drift or a smooth curve is not fitted by
/// a staircase of levels. It costs two units of penalty, and one more for each further degree.
/// Levels and trend are fitted alternately.
[[nodiscard]] TrendModel choose_trend(std::span<const double> values, const StepPath& levels);

/// Level that moves at random, observed with noise, and its jumps.
struct WanderModel {
  /// One jump of a level that also wanders.
  struct Jump {
    std::size_t index = 0;
    double gain = 0.0;  ///< in twice the log-likelihood, less the penalty
  };

  std::vector<Jump> jumps;  ///< ascending
  double score = 0.0;       ///< comparable with StepModel::score
};

/// Fits a local level with drift by exponential smoothing, and adds jumps to it. The innovations of
/// the smoothing are the noise (Muth, JASA 55, 1960). The jump that explains most comes first. A
/// jump is at least five points from the next and from the ends.
[[nodiscard]] WanderModel fit_wander(std::span<const double> values);

}  // namespace plumb::stats
