// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/work/executor.hpp"

namespace plumb::session {

/// Result of measuring two sides until everything was decided, or nothing more could be.
struct SequentialRounds {
  std::vector<results::PairedRound> rounds;
  analysis::RoundComparison comparison;
  std::vector<analysis::QualificationLook> looks;
  bool budget_ended = false;
};

/// Measures rounds until every metric is decided, or the rule's last look is past.
///
/// It also ends when the budget ends, when the user stops, or after one and a half times as many
/// rounds as the rule wants. After each look only open metrics go on: layers one by one, models
/// with all their modes.
[[nodiscard]] SequentialRounds measure_in_sequence(
    PairedRounds& pairs,
    PairedWork work,
    const analysis::SequentialRule& rule,
    const analysis::RoundLimits& limits,
    std::optional<Seconds> budget,
    const std::function<void(const Progress&)>& report);

}  // namespace plumb::session
