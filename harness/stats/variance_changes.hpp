// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/stats/step_model.hpp"

namespace plumb::stats {

/// One change of the variance of a series less its levels.
struct VarianceStep {
  std::size_t index = 0;
  double before = 0.0;  ///< standard deviations
  double after = 0.0;
  double surplus = 0.0;  ///< gain in twice the log-likelihood, less the penalty
};

/// Finds where the variance of values around given levels changed. The method is binary
/// segmentation of the normal likelihood (Chen and Gupta, JASA 92, 1997). Segments have at least
/// ten points. The deviations of neighbours differ by a factor of at least 1.25.
[[nodiscard]] std::vector<VarianceStep> find_variance_steps(std::span<const double> values,
                                                            const Boundaries& levels);

}  // namespace plumb::stats
