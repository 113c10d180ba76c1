// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analyze/metric_test.hpp"
#include "harness/analyze/result_set.hpp"

namespace plumb {

/// Compares what a library takes beside the time of a call, over the layers as it chose them in
/// both runs: making the primitive ("costs/creation"), the first call ("costs/first_call") and
/// workspace ("costs/workspace"), all of kind "cost".
///
/// Of the times, the ratio is the trimmed geometric mean over layers, disturbed ones left out, its
/// error theirs; each was taken once a layer, so that single layers say little and below
/// kLeastCostLayers nothing is said. Where more than a tenth of the layers were disturbed they are
/// inconclusive: a busy host makes all creations longer at once. `baseline` is the geometric mean.
/// Workspace is exact: the sum, in bytes. Changed: by kCostGrowth or more, the limit of a
/// qualification. Pure.
[[nodiscard]] std::vector<MetricComparison> compare_layer_costs(const ResultSet& baseline,
                                                                const ResultSet& candidate,
                                                                const ComparisonLimits& limits);
inline constexpr std::size_t kLeastCostLayers = 5;
inline constexpr double kCostGrowth = 0.20;

}  // namespace plumb
