// SPDX-License-Identifier: Apache-2.0
// Private to reporting: pictures of a comparison, as SVG that needs no script.
#pragma once

#include <span>
#include <string>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/base/units.hpp"

namespace plumb::reporting {

/// Forest plot of ratios with their intervals: one picture for each row of a table. All share one
/// logarithmic axis. What lies beyond the axis is drawn at its end with an arrow, and a point there
/// by its value.
class RatioPlot {
 public:
  /// Chooses an axis, symmetric about 1, that holds `metrics` up to a factor of four. Outliers do
  /// not stretch it: what is more than three times as far from 1 as its neighbour, and all beyond.
  explicit RatioPlot(std::span<const analysis::MetricComparison* const> metrics);

  /// Draws the axis for the head of the column: its ends and "no change".
  [[nodiscard]] std::string axis() const;
  /// Draws one metric. Empty: it has no ratio.
  [[nodiscard]] std::string row(const analysis::MetricComparison& metric) const;

 private:
  [[nodiscard]] double place(double ratio) const;

  double reach_;  ///< ln of the largest ratio on the axis
};

/// Draws the raw times of both sides on one axis, a line for each time, with their medians. Many
/// times are thinned evenly. Times beyond a side's outer fences (Tukey) do not stretch the axis.
/// They are counted at its end, with the farthest. n, median and range of each side are added as
/// text. Empty: a side has no times.
[[nodiscard]] std::string sample_strips(std::span<const Seconds> baseline,
                                        std::span<const Seconds> candidate);

}  // namespace plumb::reporting
