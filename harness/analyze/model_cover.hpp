// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/analyze/bounds.hpp"
#include "harness/analyze/measured_time.hpp"

namespace plumb {

/// Steps that a mode allows.
enum class CoverMode {
  kPlain,   ///< layers as they are written
  kFusion,  ///< also everything in the table of rewrites
};
[[nodiscard]] std::string_view to_text(CoverMode mode);  ///< "plain", "fusion"

/// Cheapest way to execute a model from measured parts: hot times, fastest variants.
struct ModelCover {
  std::vector<CoverStep> steps;  ///< topological; no steps for views and folded layers
  std::vector<CoverStep>
      critical;  ///< of the cover with the shortest critical path, source to sink
  Seconds critical_length{};
  bool optimal = true;  ///< see Cover::optimal
};
[[nodiscard]] ModelCover cover_of(const Graph& graph, const ResultSet& results, CoverMode mode);

/// Sum over steps, with the rows it is computed from.
struct StepSum {
  Seconds seconds{};
  Interval interval{};
  std::size_t missing = 0;  ///< steps without a time: they add nothing
  std::optional<Timestamp> oldest_row;
  std::vector<RowId> inputs;  ///< ascending, each once
  [[nodiscard]] MeasuredTime time() const { return {seconds, interval}; }
};

/// Adds up the medians. Different rows are independent: the halves of their intervals add as the
/// root of the sum of squares, low and high apart. One row used n times is one measurement: n times
/// its half (docs/reference/bounds.md).
[[nodiscard]] StepSum sum_of(const std::vector<CoverStep>& steps);

/// Steps of a cover with their sum.
struct PricedCover {
  std::vector<CoverStep> steps;
  StepSum sum;
  std::string why_not;  ///< empty: every step has a time
};

/// Prices a model in a precision; `why_not` says how many steps have no time in it, and why the
/// first of them has none.
[[nodiscard]] PricedCover priced_cover(const Graph& graph,
                                       const ResultSet& results,
                                       CoverMode mode,
                                       std::string_view precision);

/// Makes a bound or estimate of the sum over steps; complete if every step has a time.
[[nodiscard]] Bound bound_of(std::string_view kind,
                             std::string_view mode,
                             const std::vector<CoverStep>& steps);

/// Names the layers of a step: "conv1 + relu1", or the first and last of many.
[[nodiscard]] std::string name_of(const Graph& graph, const std::vector<LayerId>& layers);

/// Returns why a layer has no time: its own reason, the worst outcome, or that nothing was
/// measured.
[[nodiscard]] std::string reason_of(const Layer& layer, const ResultSet& results);

}  // namespace plumb
