// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analyze/qualification.hpp"
#include "harness/analyze/round_comparison.hpp"

namespace plumb {

/// Fills in what the rounds say beside the metrics: geometric means, attributions, accuracy, costs,
/// controls, this run's own alarms, invalid rounds, deaths of workers. Takes over the metrics of
/// `comparison`. Pure.
void add_evidence(std::span<const PairedRound> rounds,
                  RoundComparison comparison,
                  Qualification& qualification);

}  // namespace plumb
