// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analysis/compare/rounds/round_evidence.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::analysis {

/// Compares each side with itself: every second process with the one before, metric by metric. The
/// test is paired, at 5%, with moderated variances for layers. The rate of alarms is what this
/// machine makes of no change. Needs three such pairs. Metrics of one process move together, so
/// that the interval of the rate is narrower than it should be. Pure.
[[nodiscard]] AlarmControl alarm_control(std::span<const results::PairedRound* const> rounds);

}  // namespace plumb::analysis
