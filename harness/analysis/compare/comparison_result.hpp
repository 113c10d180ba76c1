// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/compare/comparison_verdict.hpp"
#include "harness/analysis/compare/failed_alike.hpp"
#include "harness/analysis/compare/finding.hpp"
#include "harness/analysis/compare/metric_test.hpp"
#include "harness/analysis/compare/process_deviation.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

/// Side of a comparison of runs.
struct RunSide {
  const ResultSet& results;
  std::span<const ModelBounds> models;
  std::map<std::string, std::vector<results::Execution>> executions =
      {};  ///< by subject_of() the model
};

/// Differences between two runs, metric by metric. Broken metrics come first, then changed ones,
/// then the rest; bounds come before layers.
struct RunComparison {
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  ProcessDeviation deviation;
  std::vector<MetricComparison> metrics;
  std::vector<NotCompared> not_compared;       ///< failed alike in both; they decide nothing
  std::optional<OverallChange> overall;        ///< of the metrics that decide
  std::vector<ModelAttribution> attributions;  ///< of models whose layers both runs list
  std::vector<QualificationFinding> findings;  ///< what got worse, by its cause
};

}  // namespace plumb::analysis
