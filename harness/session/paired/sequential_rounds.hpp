// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
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

/// How rounds are judged while they are measured.
struct RoundJudge {
  std::vector<std::size_t> looks;  ///< numbers of valid rounds
  std::function<analysis::RoundComparison(std::span<const results::PairedRound>)> compare;
};

/// Measures rounds until the judge leaves no metric open, or its last look is past.
///
/// It also ends when the budget ends, when the user stops, or after one and a half times as many
/// rounds as the last look wants. After each look only open metrics go on: layers one by one,
/// models with all their modes.
[[nodiscard]] SequentialRounds measure_in_sequence(
    PairedRounds& pairs,
    PairedWork work,
    const RoundJudge& judge,
    std::optional<Seconds> budget,
    const std::function<void(const Progress&)>& report);

/// Does the same, judged by the sequential rule.
[[nodiscard]] SequentialRounds measure_in_sequence(
    PairedRounds& pairs,
    PairedWork work,
    const analysis::SequentialRule& rule,
    const analysis::RoundLimits& limits,
    std::optional<Seconds> budget,
    const std::function<void(const Progress&)>& report);

}  // namespace plumb::session
