// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/stats/step_model.hpp"

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

}  // namespace plumb::stats
