// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/explain/function_finding.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Samples that each side needs at least, so that functions are named.
inline constexpr std::uint64_t kMinExplainingSamples = 1000;

/// Choice among the steps of a profile. Empty: all of them, and what is between them.
using StepFilter = std::function<bool(const results::ProfiledStep&)>;

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

/// Metric of a model or a layer that changed between two sides, or that did not: a control, in
/// which no function should differ.
struct ChangedMetric {
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

/// Layers that are explained: those that changed most.
inline constexpr std::size_t kMaxExplainedLayers = 10;

/// Explains changed metrics by the functions of both sides' profiles (explain_change()).
///
/// A model gets one finding, of the metric in the mode that both profiled, else of the largest
/// change. A layer is sought in the steps of all models: as their key, or among their layers in
/// `graphs`, by subject. Of several models, the one with most samples tells. A model without
/// profiles of one mode on both sides gets a finding that says so, unless neither side has any
/// profile. Controls come last, and a model is none if one of its metrics changed. Of the layers
/// that are controls, the longest tells that is in no step with a layer that changed. Pure.
[[nodiscard]] std::vector<FunctionFinding> explain_metrics(
    std::span<const ChangedMetric> metrics,
    std::span<const results::StoredProfile> baseline,
    std::span<const results::StoredProfile> candidate,
    const std::map<std::string, const model::Graph*>& graphs);

}  // namespace plumb::analysis
