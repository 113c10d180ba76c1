// SPDX-License-Identifier: Apache-2.0
// Private to reporting: pictures of a comparison, as SVG that needs no script.
#pragma once

#include <span>
#include <string>

#include "harness/analyze/metric_test.hpp"
#include "harness/base/units.hpp"

namespace plumb {

/// Draws ratios with their intervals on one logarithmic axis, a picture a row: a forest plot whose
/// rows are those of a table. What lies beyond the axis is drawn at its end with an arrow.
class RatioPlot {
 public:
  /// Chooses an axis, symmetric about 1, that holds all of `metrics` up to a factor of four.
  explicit RatioPlot(std::span<const MetricComparison* const> metrics);

  /// Draws the axis: its ends and "no change". For the head of the column.
  [[nodiscard]] std::string axis() const;
  /// Draws one metric; empty: it has no ratio.
  [[nodiscard]] std::string row(const MetricComparison& metric) const;

 private:
  [[nodiscard]] double place(double ratio) const;

  double reach_;  ///< ln of the largest ratio on the axis
};

/// Draws the raw times of both sides, a line each on one axis with their medians, evenly thinned
/// where they are many; and as text n, median and range of each. Empty: a side has none.
[[nodiscard]] std::string sample_strips(std::span<const Seconds> baseline,
                                        std::span<const Seconds> candidate);

}  // namespace plumb
