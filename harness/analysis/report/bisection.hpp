// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bisect/candidate_search.hpp"
#include "harness/analysis/compare/metric_test.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// One of a line of candidates: a stack, or a commit.
struct BisectionCandidate {
  std::string name;   ///< of the stack; of a commit, its hash
  std::string about;  ///< version of the stack's library; subject of the commit
};

/// What a search compares: a layer, or a model in one mode.
struct BisectionSubject {
  std::string name;  ///< a layer key, or subject_of() a model
  std::string mode;  ///< of a model, such as "plain"; empty: a layer

  bool operator==(const BisectionSubject&) const = default;
};

/// Comparison of one candidate with an earlier one, or why there is none.
struct BisectionStep {
  SearchTask task;
  CandidateState state = CandidateState::kUnknown;
  BisectionSubject subject;
  std::string baseline_variant;
  std::string candidate_variant;
  MetricComparison test;
  std::size_t pairs = 0;
  results::RunId baseline_run;
  results::RunId run;
  std::string problem;            ///< why the candidate was skipped; empty: it was measured
  std::vector<std::string> tail;  ///< the last lines of a build's log
  std::string log;                ///< its file
  std::size_t builds = 0;         ///< commits built for this step
};

/// Search for the first candidate on which a layer or a model got worse.
struct Bisection {
  /// What its candidates are.
  enum class Unit { kStack, kCommit };

  std::string what;                         ///< as the user names it: a key, a model or a suite
  Unit unit = Unit::kStack;                 ///< of the line
  std::vector<BisectionCandidate> line;     ///< good first, bad last
  std::optional<BisectionSubject> subject;  ///< absent: nothing is worse
  std::vector<BisectionStep> steps;         ///< in the order measured
  CandidateState ends = CandidateState::kUntested;
  CandidateState confirmation = CandidateState::kUntested;
  std::size_t last_good = 0;
  std::size_t first_bad = 0;  ///< with `ends` kBad
  std::size_t builds = 0;     ///< commits built, those before an interruption included
  bool complete = false;      ///< false: the user stopped it

  [[nodiscard]] bool found() const { return ends == CandidateState::kBad; }
  /// Returns whether no candidate lies between the last good one and the first bad one.
  [[nodiscard]] bool exact() const { return found() && first_bad - last_good == 1; }
  [[nodiscard]] bool confirmed() const { return confirmation == CandidateState::kBad; }
  /// Returns whether more measurements might say more: something is undecided or unconfirmed.
  [[nodiscard]] bool undecided() const;
};

[[nodiscard]] std::string_view to_text(Bisection::Unit unit);  ///< "stack", "commit"

/// Returns what a candidate is, as far as the steps say.
[[nodiscard]] CandidateState state_of(const Bisection& bisection, std::size_t candidate);

/// Returns the name of a candidate for people: a commit's first twelve digits, or a stack's name.
[[nodiscard]] std::string short_name(const Bisection& bisection, std::size_t candidate);

/// Returns what a search found, as one sentence.
[[nodiscard]] std::string conclusion(const Bisection& bisection);

}  // namespace plumb::analysis
