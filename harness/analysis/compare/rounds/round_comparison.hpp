// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <vector>

#include "harness/analysis/compare/rounds/control_drift.hpp"
#include "harness/analysis/compare/rounds/round_evidence.hpp"
#include "harness/analysis/compare/rounds/sequential_comparison.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::analysis {

/// Limits by which the metrics of paired rounds are judged.
struct RoundLimits {
  FamilyLimits models{MetricKind::kEndToEnd, {.level = 0.01, .floor = 0.01, .margin = 0.01}};
  FamilyLimits layers{MetricKind::kLayer, {.level = 0.05, .floor = 0.02, .margin = 0.02}, true};
  double control_drift = kControlLimit;  ///< see control_drift()
  CalibratedFloors floors = {};          ///< of both sides' layers
};

/// Current results of all metrics of some paired rounds.
struct RoundComparison {
  ControlDrift drift;
  std::size_t valid = 0;  ///< rounds
  std::vector<QualifiedMetric> models;
  std::vector<QualifiedMetric> layers;
  std::set<results::ModelMode> open_models;  ///< what more rounds may decide
  std::set<model::LayerKey> open_layers;     ///< likewise

  [[nodiscard]] bool open() const { return !open_models.empty() || !open_layers.empty(); }
};

/// Judges every metric that the rounds have measured, models first. Each family is judged by the
/// sequential rule, over the valid rounds. Rounds up to the rule's first look screen. The minimum
/// effect of a layer is layer_floor() without an assumed deviation, since pairs show their own.
///
/// Broken: the baseline works in every process, and the candidate is refused, wrong or out of
/// memory in one, falls back to a reference implementation, or dies in two or more. Broken metrics
/// are closed. So are metrics that the baseline refuses. Pure.
[[nodiscard]] RoundComparison compare_rounds(std::span<const results::PairedRound> rounds,
                                             const SequentialRule& rule,
                                             const RoundLimits& limits);

}  // namespace plumb::analysis
