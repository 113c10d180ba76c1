// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/bisect/candidate_search.hpp"
#include "harness/analysis/report/bisection.hpp"
#include "harness/session/paired/paired_rounds.hpp"

namespace plumb::session {

/// What a search looks for, as the comparison of its ends showed it.
struct SoughtChange {
  analysis::BisectionSubject subject;
  bool broken = false;  ///< it does not work at the bad end
  double ratio = 1.0;   ///< above 1, unless it is broken
};

/// Judge of the comparisons of a search: when they have enough rounds, and what they say.
class StepJudge {
 public:
  /// `pairs` are wanted of a candidate, and more if they decide nothing.
  StepJudge(std::size_t pairs, analysis::RoundLimits limits);

  /// Returns how rounds of the ends are judged. Once `pairs` have shown something worse, nothing
  /// else is waited for, but the size of a slow-down is pinned down.
  [[nodiscard]] RoundJudge of_ends() const;
  /// Returns how rounds of a candidate with the good end are judged.
  [[nodiscard]] RoundJudge of_candidate(const SoughtChange& change) const;
  /// Returns how rounds of the first bad and the last good one are judged.
  [[nodiscard]] RoundJudge of_confirmation() const;

  /// Concludes from the rounds of the ends. Fills in state, subject and test of the step.
  void conclude_ends(const analysis::RoundComparison& comparison,
                     analysis::BisectionStep& step) const;
  /// Concludes from other rounds what a candidate is.
  void conclude(const analysis::RoundComparison& comparison,
                const SoughtChange& change,
                analysis::BisectionStep& step) const;

 private:
  [[nodiscard]] analysis::CandidateState state_of(const analysis::QualifiedMetric& metric,
                                                  const SoughtChange& change,
                                                  std::size_t valid) const;

  std::size_t pairs_;
  analysis::RoundLimits limits_;
  analysis::SequentialRule rule_;
  analysis::SideRule sides_;
};

}  // namespace plumb::session
