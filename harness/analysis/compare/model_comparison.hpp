// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/compare/process_deviation.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {

/// Change of one bound, one end-to-end time or one load of a model between two runs.
struct ModelChange {
  ModelInstance instance;
  std::optional<results::BoundKind> bound;  ///< absent: of an end-to-end time or a load
  std::string mode;
  std::optional<loadgen::ScenarioName> scenario;  ///< of an end-to-end time or a load
  MetricComparison metric;
};

/// Returns the series of an end-to-end time: "models/lenet|1|f32/end_to_end/plain/single_stream".
/// Of a shape among others it is that of its turn: "models/lenet|1|f32/alternation/plain/first".
[[nodiscard]] std::string end_to_end_series(const std::string& subject,
                                            const std::string& mode,
                                            loadgen::ScenarioName scenario,
                                            std::optional<results::ShapeTurn> turn = {});

/// Compares the models that both runs have: bounds, end-to-end times and loads. The bound
/// `hardware` is left out, since it does not depend on the library. Times among other shapes are
/// compared as those of a shape alone, but decide nothing.
///
/// The minimum effect of a bound is the limit, at least 1%. An end-to-end time has that of
/// run_floor() where both runs timed it in kMinProcesses, else 1% if it is calibrated, else that of
/// an uncalibrated layer. The deviation of an end-to-end time is the larger of `deviation` and its
/// calibrated one.
///
/// Broken: executed before, and now failed. Inconclusive: a bound that is incomplete in one run, or
/// an execution that only the baseline has. A load is broken if it is no longer executed, and
/// regressed or improved if its verdict changed between valid and failed. Otherwise it is
/// inconclusive: one load per run has no interval. Pure.
[[nodiscard]] std::vector<ModelChange> compare_models(std::span<const ModelBounds> baseline,
                                                      std::span<const ModelBounds> candidate,
                                                      const ProcessDeviation& deviation,
                                                      const CalibratedFloors& floors,
                                                      const ComparisonLimits& limits);

}  // namespace plumb::analysis
