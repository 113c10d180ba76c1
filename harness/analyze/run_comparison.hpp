// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/bounds.hpp"
#include "harness/analyze/environment_difference.hpp"
#include "harness/analyze/metric_test.hpp"
#include "harness/analyze/process_deviation.hpp"
#include "harness/analyze/qualification.hpp"
#include "harness/results/execution.hpp"

namespace plumb {

/// One side of a comparison.
struct RunSide {
  const ResultSet& results;
  std::span<const ModelBounds> models;
  std::map<std::string, std::vector<Execution>> executions = {};  ///< by subject_of() the model
};

/// Returns what a user gets of a key, hot: the library's choice where that was timed, else the
/// fastest.
[[nodiscard]] std::optional<KeyTime> served_time(const ResultSet& results, const LayerKey& key);

/// Differences between two runs, metric by metric. Broken metrics come first, then changed ones,
/// then the rest; bounds come before layers.
struct RunComparison {
  ComparisonVerdict verdict = ComparisonVerdict::kInconclusive;
  ProcessDeviation deviation;
  std::vector<MetricComparison> metrics;
  std::vector<ModelAttribution> attributions;  ///< of models that both runs executed and told of
  std::vector<QualificationFinding> findings;  ///< what got worse, by its cause
};

/// Compares two runs that were each measured once.
///
/// A layer is its key's time as the library chose it, hot; its error is that of both medians and
/// twice the deviation between processes, or, where both runs timed it in three processes or more,
/// what these show. Broken: timed before, and now refused, crashed, wrong or
/// fallen back to a reference implementation. Where a library does not choose its fastest variant
/// the fastest ones are compared too (kind "capability"). A layer of a disturbed block, and one
/// that only one run measured, is inconclusive. Floors: layer_floor() of the series' calibration,
/// else of the deviation that the runs show; for models see compare_models(). Layers' p-values are
/// corrected after Benjamini and Hochberg. Outputs are compared too, see numerical_drift.hpp, and
/// what layers cost beside their time, see layer_costs.hpp.
/// Causes: another implementation, another workspace, and whether the fastest variant changed too
/// (capability) or only the choice (heuristic).
///
/// An end-to-end change is split over the layers as they were executed inside the model
/// (attribute_model()); a changed model's causes are these terms, with the unexplained. Layers that
/// got worse by one cause are one finding. Pure.
[[nodiscard]] RunComparison compare_runs(const RunSide& baseline,
                                         const RunSide& candidate,
                                         const CalibratedFloors& floors,
                                         const ComparisonLimits& limits);

}  // namespace plumb
