// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/measure/sample_summary.hpp"

namespace plumb::analysis {

/// Steps that a mode allows.
enum class PartitionMode {
  kPlain,   ///< layers as they are written
  kFusion,  ///< also several of them as one, by the table of rewrites
};
[[nodiscard]] std::string_view to_text(PartitionMode mode);  ///< "plain", "fusion"

/// Cheapest way to execute a model, computed from hot times of the fastest variants.
struct ModelPartition {
  std::vector<PartitionStep> steps;  ///< topological; no steps for views and folded layers
  std::vector<PartitionStep>
      critical;  ///< of the partition with the shortest critical path, source to sink
  Seconds critical_length{};
  bool optimal = true;  ///< see Partition::optimal
};
/// Computes it. kFusion takes everything, or only the rewrite::FusionFamily that is named.
[[nodiscard]] ModelPartition partition_model(const model::Graph& graph,
                                             const ResultSet& results,
                                             PartitionMode mode,
                                             std::string_view family = {});

/// Sum over steps, with the rows from which it is computed.
struct StepSum {
  measure::MeasuredTime time;
  std::size_t missing = 0;  ///< steps without a time: they add nothing
  std::optional<Timestamp> oldest_row;
  std::vector<results::RowId> inputs;  ///< ascending, each once
};

/// Adds up the medians. Different rows are independent: their half intervals add as the root of the
/// sum of squares, lower and upper separately. One row used n times is one measurement, with n
/// times its half (docs/reference/bounds.md).
[[nodiscard]] StepSum sum_steps(const std::vector<PartitionStep>& steps);

/// Steps of a partition with their sum.
struct PricedPartition {
  std::vector<PartitionStep> steps;
  StepSum sum;
  std::string why_not;  ///< empty: every step has a time
};

/// Prices the steps of a model in a precision. `why_not` says how many steps have no time in it,
/// and why the first has none.
[[nodiscard]] PricedPartition priced_partition(const model::Graph& graph,
                                               const ResultSet& results,
                                               std::vector<PartitionStep> steps,
                                               std::string_view precision);

/// Returns a bound or estimate from the sum over steps. It is complete if every step has a time.
[[nodiscard]] Bound make_bound(results::BoundKind kind,
                               std::string_view mode,
                               const std::vector<PartitionStep>& steps);

/// Returns the names of a step's layers: "conv1 + relu1", or the first and last of many.
[[nodiscard]] std::string name_of(const model::Graph& graph,
                                  const std::vector<model::LayerId>& layers);

/// Returns why a layer has no time: its own reason, the worst outcome, or that nothing was
/// measured.
[[nodiscard]] std::string find_reason(const model::Layer& layer, const ResultSet& results);

}  // namespace plumb::analysis
