// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/analyze/qualification.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb {

/// Compares each side with itself: every second process with the one before, metric by metric, by a
/// paired t test at 5%, layers with moderated variances. How many alarm is what this machine makes
/// of nothing. Needs three such pairs. Metrics of one process move together, so that the interval
/// of the rate is narrower than it should be. Pure.
[[nodiscard]] AlarmControl alarm_control(std::span<const PairedRound* const> rounds);

}  // namespace plumb
