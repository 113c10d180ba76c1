// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumb::stats {

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
