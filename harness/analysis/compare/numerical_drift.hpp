// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/compare/metric_test.hpp"

namespace plumb::analysis {

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
