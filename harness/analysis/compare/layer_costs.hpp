// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

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

}  // namespace plumb::analysis
