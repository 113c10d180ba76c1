// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/analysis/qualify/qualification.hpp"

namespace plumb::analysis {

/// Fills in the evidence of the rounds other than the metrics. These are geometric means,
/// attributions, accuracy, costs, controls, this run's own alarms, invalid rounds and deaths of
/// workers. Takes over the metrics of `comparison`. Pure.
void add_evidence(std::span<const results::PairedRound> rounds,
                  RoundComparison comparison,
                  Qualification& qualification);

/// Fills in causes and `findings`. The causes of a regressed or broken layer come from the names of
/// its variants and from the pinned variant check: instruction set, implementation family,
/// implementation, kernel, heuristic. Those of a changed model come from its attribution. Each
/// cause is one finding, with all its layers and models, largest first. Pure.
void add_findings(Qualification& qualification);

}  // namespace plumb::analysis
