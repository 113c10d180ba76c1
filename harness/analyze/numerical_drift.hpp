// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/analyze/bounds.hpp"
#include "harness/analyze/metric_test.hpp"

namespace plumb {

/// Compares what the library's own choice computes for each key that both runs hashed an output of:
/// one metric a key, of kind "accuracy".
///
/// Equivalent: the same bit for bit, or still within the tolerance that each run verified its rows
/// by. Regressed: within the tolerance before, and now a wrong result. Improved: the other way
/// round. Inconclusive: other bits and no reference to judge them by, wrong in both runs, or hashed
/// by one run only. The reason says which, with the maximum errors. Pure.
[[nodiscard]] std::vector<MetricComparison> compare_layer_outputs(const ResultSet& baseline,
                                                                  const ResultSet& candidate);

/// Compares the outputs of whole models in the same way, by mode and scenario. A plain execution
/// has no reference: other bits there are inconclusive, since its layers decide. Pure.
[[nodiscard]] std::vector<MetricComparison> compare_model_outputs(
    std::span<const ModelBounds> baseline, std::span<const ModelBounds> candidate);

}  // namespace plumb
