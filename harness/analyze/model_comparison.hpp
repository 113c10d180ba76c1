// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analyze/bounds.hpp"
#include "harness/analyze/process_deviation.hpp"

namespace plumb {

/// Change of one bound, or of one end-to-end time, of a model between two runs.
struct ModelChange {
  ModelInstance instance;
  std::string what;  ///< the bound's kind, or "end_to_end", or "load"
  std::string mode;
  std::string scenario;  ///< of an end-to-end time; else empty
  MetricComparison metric;
};

/// Names the series of an end-to-end time: "models/lenet|1|f32/end_to_end/plain/single_stream".
[[nodiscard]] std::string end_to_end_series(const std::string& subject,
                                            const std::string& mode,
                                            const std::string& scenario);

/// Compares the models that both runs have: all bounds but the hardware's, which is no work of the
/// library, all end-to-end times and all loads. Floor: the larger of the limit and 1%. The
/// deviation of an end-to-end time is the larger of `deviation` and its calibrated one. Broken:
/// executed before, and now failed. Inconclusive: a bound that is incomplete in one run, an
/// execution that only one run has. A load by a scenario is broken if it is not executed any more,
/// regressed or improved if its verdict changed between valid and failed, else inconclusive: one
/// load each has no interval. Pure.
[[nodiscard]] std::vector<ModelChange> compare_models(std::span<const ModelBounds> baseline,
                                                      std::span<const ModelBounds> candidate,
                                                      const ProcessDeviation& deviation,
                                                      const CalibratedFloors& floors,
                                                      const ComparisonLimits& limits);

}  // namespace plumb
