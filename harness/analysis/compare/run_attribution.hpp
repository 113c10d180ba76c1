// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/compare/comparison_result.hpp"

namespace plumb::analysis {

/// Comparison of one layer between two runs, with the variant that each executed.
struct ComparedLayer {
  MetricComparison metric;
  std::string key;               ///< empty: not the layer itself, but its capability
  std::string baseline_variant;  ///< empty: one side has no time
  std::string candidate_variant;
  std::optional<NotCompared> not_compared;  ///< then `metric` is no part of the comparison
};

/// Splits the change of every model that both sides executed over its layers. Adds the splits to
/// the comparison's attributions, and the parts as causes where the model changed. Pure.
void attribute_models(const RunSide& baseline, const RunSide& candidate, RunComparison& result);

/// Groups the layers that got worse by their cause, with the models of the baseline that execute
/// them. Pure.
[[nodiscard]] std::vector<QualificationFinding> group_findings(
    const RunSide& baseline, const std::vector<ComparedLayer>& layers);

}  // namespace plumb::analysis
