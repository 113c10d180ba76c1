// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/explain/function_finding.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/profile/stored_profile.hpp"

namespace plumb::analysis {

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
