// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {

/// Model to profile, in one mode, or a layer alone.
struct ProfiledModel {
  std::string subject;
  results::ExecutionMode mode;
  std::string layer = {};  ///< key, which is the subject, too; empty: it is a model
};

/// Layers that may be controls: a step may have fused some with layers that changed.
inline constexpr std::size_t kMaxControlLayers = 8;

/// What is profiled to explain changes, and the metrics that it explains.
struct ProfilingChoice {
  std::vector<ProfiledModel> models;
  std::vector<ChangedMetric> metrics;  ///< those that changed, then the controls
};

/// Returns whether anything but layers alone was chosen. Runs keep no profiles of these.
[[nodiscard]] bool has_model(const ProfilingChoice& choice);

/// Chooses the models that changed, each in the mode that changed most of those that need no
/// measured times of layers (else in plain). A changed layer that is in none of them adds the first
/// model that it occurs in. If that is none, the kMaxExplainedLayers that changed most are profiled
/// alone.
///
/// Controls show how much the functions of equal executions differ. They are of what did not
/// change: the kMaxControlLayers longest layers in a profiled model, and the shortest model that is
/// not profiled, because it is soon prepared. Where layers are profiled alone, the control is the
/// longest layer that is in no model. `models_of_layers` has the subjects of the models by layer
/// key. Nothing changed: nothing is chosen. Pure.
[[nodiscard]] ProfilingChoice choose_profiling(
    std::vector<ChangedMetric> changed,
    std::span<const ChangedMetric> not_changed,
    const std::map<std::string, std::vector<std::string>>& models_of_layers);

/// Chooses what is profiled to explain a comparison of two runs, and controls. `graphs` are those
/// of the runs' models, by subject. Pure.
[[nodiscard]] ProfilingChoice choose_comparison_profiling(
    const RunComparison& comparison, const std::map<std::string, const model::Graph*>& graphs);

}  // namespace plumb::analysis
