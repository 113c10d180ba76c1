// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <vector>

#include "harness/analyze/machine_drift.hpp"
#include "harness/analyze/qualification.hpp"
#include "harness/analyze/sequential_comparison.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb {

/// Limits by which the metrics of paired rounds are judged.
struct RoundLimits {
  FamilyLimits models{.kind = "end_to_end", .level = 0.01, .floor = 0.01, .margin = 0.01};
  FamilyLimits layers{
      .kind = "layer", .level = 0.05, .floor = 0.02, .margin = 0.02, .moderated = true};
  double control_drift = 0.10;   ///< see machine_drift()
  CalibratedFloors floors = {};  ///< of both sides' layers
};

/// Current results of all metrics of some paired rounds.
struct RoundComparison {
  MachineDrift drift;
  std::size_t valid = 0;  ///< rounds
  std::vector<QualifiedMetric> models;
  std::vector<QualifiedMetric> layers;
  std::set<ModelMode> open_models;  ///< what more rounds may decide
  std::set<LayerKey> open_layers;   ///< likewise

  [[nodiscard]] bool open() const { return !open_models.empty() || !open_layers.empty(); }
};

/// Judges every metric that the rounds have measured, models first: each family by the sequential
/// rule, over the valid rounds. Rounds up to the rule's first look screen. A layer's floor is that
/// of layer_floor(), without an assumed deviation: pairs show their own.
///
/// Broken: the baseline works in every process, and the candidate is refused, wrong or out of
/// memory in one, falls back to a reference implementation, or dies in two or more. Broken metrics
/// are closed, and so are those that no process of the baseline could measure. Pure.
[[nodiscard]] RoundComparison compare_rounds(std::span<const PairedRound> rounds,
                                             const SequentialRule& rule,
                                             const RoundLimits& limits);

}  // namespace plumb
