// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/analysis/qualify/qualification.hpp"

namespace plumb::analysis {

/// Fills in the evidence of the rounds other than the metrics. These are geometric means,
/// attributions, accuracy, costs, controls, the alarms of alarm_control(), invalid rounds and
/// deaths of workers. Takes over the metrics of `comparison`. Pure.
void add_evidence(std::span<const results::PairedRound> rounds,
                  RoundComparison comparison,
                  Qualification& qualification);

/// Compares the later half of the screening pairs with the earlier half, metric by metric.
///
/// A test is that of the verdicts: paired, at 5%, with moderated variances for layers. It compares
/// ratios of candidate ÷ baseline. A change between the stacks is in both halves, and a drift of
/// the machine in both times of a pair. So neither raises an alarm. Ratios that wander do: then
/// pairs are no independent evidence, and intervals are too narrow.
///
/// Needs six screening pairs. Metrics of one process may move together, and the interval of the
/// rate does not know it. Pure.
[[nodiscard]] AlarmControl alarm_control(const Qualification& qualification);

/// Fills in causes and `findings`. The causes of a regressed or broken layer come from the names of
/// its variants and from the pinned variant check: instruction set, implementation family,
/// implementation, kernel, heuristic. Those of a changed model come from its attribution. Each
/// cause is one finding, with all its layers and models, largest first. Pure.
void add_findings(Qualification& qualification);

}  // namespace plumb::analysis
