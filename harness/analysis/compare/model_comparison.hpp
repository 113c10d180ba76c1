// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/compare/process_deviation.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {

/// Returns the series of an end-to-end time: "models/lenet|1|f32/end_to_end/plain/single_stream".
/// Of a shape among others it is that of its turn: "models/lenet|1|f32/alternation/plain/first".
[[nodiscard]] std::string end_to_end_series(const std::string& subject,
                                            const std::string& mode,
                                            loadgen::ScenarioName scenario,
                                            std::optional<results::SeriesName::Turn> turn = {});

/// State of one metric of one model.
struct ModelRegression {
  /// Change of one bound, one end-to-end time or one load of a model between two runs.
  struct Change {
    ModelInstance instance;
    std::optional<results::BoundKind> bound;  ///< absent: of an end-to-end time or a load
    std::string mode;
    std::optional<loadgen::ScenarioName> scenario;  ///< of an end-to-end time or a load
    MetricComparison metric;
  };

  /// Bounds and process deviation of one run, as far as the judgement of regressions needs them.
  struct Run {
    std::span<const ModelBounds> models;
    ProcessDeviation deviation;
  };

  /// State of a model's metric over the newest runs.
  enum class State {
    kBroken,     ///< worked in the baseline, and now fails
    kRegressed,  ///< confirmed: at least the newest two runs are worse than the baseline
    kSuspected,  ///< only the newest run is worse
    kImproved,
    kEquivalent,
    kInconclusive,
    kNoBaseline,  ///< nothing to compare with
  };

  ModelInstance instance;
  std::string metric;  ///< "latency" (one query after the other) or "bound_library"
  std::string mode;
  State state = State::kNoBaseline;
  std::optional<double> ratio;  ///< newest ÷ baseline
};

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
[[nodiscard]] std::vector<ModelRegression::Change> compare_models(
    std::span<const ModelBounds> baseline,
    std::span<const ModelBounds> candidate,
    const ProcessDeviation& deviation,
    const CalibratedFloors& floors,
    const ComparisonLimits& limits);

inline constexpr std::array kRegressionStates{ModelRegression::State::kBroken,
                                              ModelRegression::State::kRegressed,
                                              ModelRegression::State::kSuspected,
                                              ModelRegression::State::kImproved,
                                              ModelRegression::State::kEquivalent,
                                              ModelRegression::State::kInconclusive,
                                              ModelRegression::State::kNoBaseline};

[[nodiscard]] std::string_view to_text(
    ModelRegression::State state);  ///< "broken", "no_baseline", …

/// Judges every metric of the newest run. `newest_first` are comparable runs.
///
/// With a `baseline`, `newest_first` has the runs after it. A regression is confirmed when the
/// newest two are worse than the baseline. Without one, the baseline is the newest run against
/// which all later ones, at least two, are worse; where there is none, the run before the newest. A
/// confirmed regression therefore stays until a run is better, a baseline is set, or the list no
/// longer reaches back far enough. Pure.
[[nodiscard]] std::vector<ModelRegression> find_regressions(
    std::span<const ModelRegression::Run> newest_first,
    const std::optional<ModelRegression::Run>& baseline);

}  // namespace plumb::analysis
