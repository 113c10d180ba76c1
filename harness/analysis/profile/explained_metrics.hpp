// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/attribution.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Samples that each side needs at least, so that functions are named.
inline constexpr std::uint64_t kMinExplainingSamples = 1000;

/// Choice among the steps of a profile. Empty: all of them, and what is between them.
using StepFilter = std::function<bool(const results::SampledProfile::Step&)>;

/// Counts the samples of some steps.
[[nodiscard]] std::uint64_t count_samples(const results::NamedProfile& profile,
                                          const StepFilter& chosen);

/// Returns why two profiles are too small to name functions. Empty: they are not.
[[nodiscard]] std::string find_shortage(const results::NamedProfile& baseline,
                                        const results::NamedProfile& candidate);

/// Adds to a finding how the time of some steps differs between two profiles, and the functions
/// that explain it, as compute_profile_difference() ranks them. `problem` says why there are none
/// (find_shortage()). Throws as that does. Pure.
void explain_change(const results::NamedProfile& baseline,
                    const results::NamedProfile& candidate,
                    const StepFilter& chosen,
                    FunctionFinding& finding);

/// Layers that are explained: those that changed most.
inline constexpr std::size_t kMaxExplainedLayers = 10;

/// Layers that may be controls: a step may have fused some with layers that changed.
inline constexpr std::size_t kMaxControlLayers = 8;

/// What is profiled to explain changes, and the metrics that it explains.
struct ProfilingChoice {
  /// Metric of a model or a layer that changed between two sides, or that did not: a control, in
  /// which no function should differ.
  struct Metric {
    std::string series;
    std::string model;  ///< subject; empty: it is of a layer
    std::string mode;   ///< of a model
    std::string layer;  ///< key; empty: it is of a model
    std::optional<double> ratio;
    std::optional<double> low;
    std::optional<double> high;
    double delta = 0.0;  ///< in seconds
    bool control = false;
    double baseline = 0.0;  ///< its time there, in seconds
  };

  /// Model to profile, in one mode, or a layer alone.
  struct Model {
    std::string subject;
    results::ExecutionMode mode;
    std::string layer = {};  ///< key, which is the subject, too; empty: it is a model
  };

  std::vector<Model> models;
  std::vector<Metric> metrics;  ///< those that changed, then the controls
};

/// Returns a compared metric with how its time changed. Whose time it is, the caller adds: a model
/// in a mode, or a layer. Pure.
[[nodiscard]] ProfilingChoice::Metric describe_metric(const MetricComparison& compared);

/// Explains changed metrics by the functions of both sides' profiles (explain_change()).
///
/// A model gets one finding, of the metric in the mode that both profiled, else of the largest
/// change. A layer is sought in the steps of all models: as their key, or among their layers in
/// `graphs`, by subject. Of several models, the one with most samples tells. A model without
/// profiles of one mode on both sides gets a finding that says so, unless neither side has any
/// profile. Controls come last, and a model is none if one of its metrics changed. Of the layers
/// that are controls, the longest tells that is in no step with a layer that changed. Pure.
[[nodiscard]] std::vector<FunctionFinding> explain_metrics(
    std::span<const ProfilingChoice::Metric> metrics,
    std::span<const results::StoredProfile> baseline,
    std::span<const results::StoredProfile> candidate,
    const std::map<std::string, const model::Graph*>& graphs);

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
    std::vector<ProfilingChoice::Metric> changed,
    std::span<const ProfilingChoice::Metric> not_changed,
    const std::map<std::string, std::vector<std::string>>& models_of_layers);

/// Chooses what is profiled to explain a comparison of two runs, and controls. `graphs` are those
/// of the runs' models, by subject. Pure.
[[nodiscard]] ProfilingChoice choose_comparison_profiling(
    const RunComparison& comparison, const std::map<std::string, const model::Graph*>& graphs);

}  // namespace plumb::analysis
