// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"

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

/// Compares two runs that were each measured once.
///
/// - A layer is its key's hot time as the library chose it. If both runs timed it in at least
///   kMinProcesses, these give its error (test_processes()). Otherwise the error has those of both
///   medians, and the deviation between processes once for each side (test_times()).
/// - Broken: timed before, and now refused, crashed, wrong or fallen back to a reference
///   implementation.
/// - Where a library does not choose its fastest variant, the fastest ones are compared too (kind
///   "capability").
/// - A layer is inconclusive if its block was disturbed or only one run measured it. So it is if a
///   side has one sample, unless kMinProcesses show the noise. Its interval is then unknown.
/// - A layer that failed alike in both runs is not compared (failed_alike()). Another failure than
///   before is a change (judge_failures()).
/// - The minimum effect is run_floor() where processes give the error, else layer_floor(). For
///   models see compare_models().
/// - All p-values of times are one family, corrected by weighted Benjamini-Hochberg.
/// - Outputs are compared too (compare_layer_outputs()), and so are costs other than the time of a
///   call (compare_layer_costs()).
/// - Causes of a layer: another implementation, another workspace, and whether the fastest variant
///   changed too (capability) or only the choice (heuristic).
///
/// An end-to-end change is split over the layers as they were executed inside the model
/// (attribute_model()). The causes of a changed model are these terms and the unexplained rest.
/// Layers that got worse by one cause are one finding. Pure.
[[nodiscard]] RunComparison compare_runs(const RunComparison::Side& baseline,
                                         const RunComparison::Side& candidate,
                                         const CalibratedFloors& floors,
                                         const ComparisonLimits& limits);

/// Makes all metrics of time inconclusive for a reason that concerns both runs as wholes. What is
/// broken stays so, and so do sizes and outputs.
void withhold_times(const std::string& reason, RunComparison& comparison);

}  // namespace plumb::analysis
