// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumb {

/// One jump of a level that wanders anyway.
struct Jump {
  std::size_t index = 0;
  double gain = 0.0;  ///< in twice the log-likelihood, less the penalty
};

/// Level that wanders at random, seen through noise, and its jumps.
struct WanderModel {
  std::vector<Jump> jumps;  ///< ascending
  double score = 0.0;       ///< comparable with StepModel::score
};

/// Fits a local level with drift by exponential smoothing, whose innovations are the noise (Muth,
/// JASA 55, 1960), and adds jumps, the one that explains most first. A jump is at least five points
/// from the next and from the ends.
[[nodiscard]] WanderModel fit_wander(std::span<const double> values);

}  // namespace plumb
