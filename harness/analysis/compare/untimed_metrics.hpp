// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/compare/metric_test.hpp"

namespace plumb::analysis {

/// Compares costs of a library other than the time of a call, over the layers as each run's library
/// chose them. All are of kind "cost": making the primitive ("costs/creation"), the first call
/// ("costs/first_call") and workspace ("costs/workspace").
///
/// The ratio of the times is the trimmed geometric mean over layers, without disturbed ones, and
/// its error is theirs. `baseline` is the geometric mean. Each time was taken once per layer, so
/// that single layers show little: below kMinCostLayers there is no metric. If more than a tenth of
/// the layers were disturbed, it is inconclusive, since a busy host makes all creations longer at
/// once.
///
/// Workspace is exact: the sum, in bytes. All count as changed from kCostGrowth on, the limit of a
/// qualification. Pure.
[[nodiscard]] std::vector<MetricComparison> compare_layer_costs(const ResultSet& baseline,
                                                                const ResultSet& candidate,
                                                                const ComparisonLimits& limits);
inline constexpr std::size_t kMinCostLayers = 5;
inline constexpr double kCostGrowth = 0.20;

/// Compares the outputs of the library's choice, one metric of kind "accuracy" for each key in both
/// runs. A key that neither run hashed has none.
///
/// - Equivalent: the same bit for bit, or still within the tolerance by which each run verified its
///   rows.
/// - Regressed: within the tolerance before, and now a wrong result.
/// - Improved: the other way round.
/// - Inconclusive: other bits without a reference, wrong in both runs, or hashed by one run only.
///
/// The reason says which, with the maximum errors. Pure.
[[nodiscard]] std::vector<MetricComparison> compare_layer_outputs(const ResultSet& baseline,
                                                                  const ResultSet& candidate);

/// Compares the outputs of whole models in the same way, by mode and scenario. A plain execution
/// has no reference, so other bits there are inconclusive: its layers decide. Pure.
[[nodiscard]] std::vector<MetricComparison> compare_model_outputs(
    std::span<const ModelBounds> baseline, std::span<const ModelBounds> candidate);

}  // namespace plumb::analysis
