// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "harness/worker/backend.hpp"

namespace plumb::cuda {

/// A metric of the GPU's counters, and the name of its reading in a row.
struct ChosenMetric {
  std::string name;     ///< CUPTI's: "lts__t_sector_hit_rate.pct"
  std::string reading;  ///< "l2_hit_ratio"; of one that was asked for by name, that name
  double unit = 1.0;    ///< of the reading, for each of the metric's own

  bool operator==(const ChosenMetric&) const = default;
};

/// The metrics to count on a chip, and the requested ones that it cannot count.
struct MetricChoice {
  std::vector<ChosenMetric> metrics;
  std::vector<std::string> missing;  ///< readings, or names as asked for

  [[nodiscard]] std::vector<std::string> names() const;
};

/// Chooses the metrics that were asked for by name, or, if none were, those that answer what a row
/// leaves open: instructions, in all and of tensor cores, how busy their pipe, the processors and
/// the memory are, bytes from and to memory, hits in the L2 cache, occupancy. Chips name some of
/// them differently: the first name that the chip has is taken.
[[nodiscard]] MetricChoice choose_metrics(const std::vector<std::string>& asked,
                                          const std::function<bool(const std::string&)>& has);

/// Sums up values by range and metric, each range of so many executions. Readings: of one
/// execution, what the counters counted (names that end with .sum, .avg, .min or .max); all else as
/// it is. A value that is no number is left out and told by "metrics_missing".
///
/// Where instructions of the tensor pipe were counted, "tensor_cores" says whether any of them was
/// a matrix instruction: all but HFMA2.MMA, ordinary arithmetic that GA100 and GH100 execute there.
/// A thousandth is taken for what may differ from pass to pass.
[[nodiscard]] Observation metric_observation(const MetricChoice& choice,
                                             const std::vector<std::vector<double>>& ranges,
                                             std::size_t executions);

}  // namespace plumb::cuda
