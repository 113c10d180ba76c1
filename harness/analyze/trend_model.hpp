// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analyze/step_model.hpp"

namespace plumb {

/// Levels of a series on top of a smooth trend.
struct TrendModel {
  StepModel steps;            ///< of the values less the trend; its score includes the trend
  std::vector<double> trend;  ///< by point, around zero; empty: none
  std::size_t degree = 0;
  double surplus = 0.0;  ///< by which the trend beats the levels alone
};

/// Chooses among levels, a trend, and levels on a trend, by penalised likelihood.
///
/// A trend is a polynomial of degree 1, 3 or 5, so that neither a drift nor a smooth curve becomes
/// a staircase. It costs two units of penalty and one more for each further degree. Levels and
/// trend are fitted in turns.
[[nodiscard]] TrendModel choose_trend(std::span<const double> values, const StepPath& levels);

}  // namespace plumb
