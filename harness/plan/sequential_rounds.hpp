// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "harness/analyze/round_comparison.hpp"
#include "harness/plan/executor.hpp"
#include "harness/plan/paired_rounds.hpp"

namespace plumb {

/// The outcome of measuring two sides until everything was decided, or no more could be.
struct SequentialRounds {
  std::vector<PairedRound> rounds;
  RoundComparison comparison;
  std::vector<QualificationLook> looks;
  bool budget_ended = false;
};

/// Measures rounds until every metric is decided, the rule's last look is past, half as many rounds
/// again as that were measured, the budget ended or the user stopped. After each look only what is
/// open goes on: layers one by one, models with all their modes.
[[nodiscard]] SequentialRounds measure_in_sequence(
    PairedRounds& pairs,
    PairedWork work,
    const SequentialRule& rule,
    const RoundLimits& limits,
    std::optional<Seconds> budget,
    const std::function<void(const Progress&)>& report);

}  // namespace plumb
