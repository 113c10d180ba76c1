// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/model_comparison.hpp"

namespace plumb::analysis {

/// State of a model's metric over the newest runs.
enum class RegressionState {
  kBroken,     ///< worked in the baseline, and now fails
  kRegressed,  ///< confirmed: at least the newest two runs are worse than the baseline
  kSuspected,  ///< only the newest run is worse
  kImproved,
  kEquivalent,
  kInconclusive,
  kNoBaseline,  ///< nothing to compare with
};
inline constexpr std::array kRegressionStates{RegressionState::kBroken,
                                              RegressionState::kRegressed,
                                              RegressionState::kSuspected,
                                              RegressionState::kImproved,
                                              RegressionState::kEquivalent,
                                              RegressionState::kInconclusive,
                                              RegressionState::kNoBaseline};
[[nodiscard]] std::string_view to_text(RegressionState state);  ///< "broken", "no_baseline", …

/// Bounds and process deviation of one run, as far as the judgement of regressions needs them.
struct ComparableRun {
  std::span<const ModelBounds> models;
  ProcessDeviation deviation;
};

/// State of one metric of one model.
struct ModelRegression {
  ModelInstance instance;
  std::string metric;  ///< "latency" (one query after the other) or "bound_library"
  std::string mode;
  RegressionState state = RegressionState::kNoBaseline;
  std::optional<double> ratio;  ///< newest ÷ baseline
};

/// Judges every metric of the newest run. `newest_first` are comparable runs.
///
/// With a `baseline`, `newest_first` has the runs after it. A regression is confirmed when the
/// newest two are worse than the baseline. Without one, the baseline is the newest run against
/// which all later ones, at least two, are worse; where there is none, the run before the newest. A
/// confirmed regression therefore stays until a run is better, a baseline is set, or the list no
/// longer reaches back far enough. Pure.
[[nodiscard]] std::vector<ModelRegression> find_regressions(
    std::span<const ComparableRun> newest_first, const std::optional<ComparableRun>& baseline);

}  // namespace plumb::analysis
