// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Fills in times, ratio and interval of a change from all pairs. Returns whether they pin it down:
/// the interval reaches at most a quarter of the change to either side, so that its middle is a
/// sound limit for Bisection::SideRule.
[[nodiscard]] bool estimate_change(const PairedSamples& pairs, MetricComparison& metric);

/// Probability of an interval's end on the wrong side, over all looks. A candidate that really is
/// at an end of the change is misjudged far more rarely, since the limit is half a change away.
inline constexpr double kSideTail = 0.01;

/// A candidate that is undecided after the usual pairs gets up to so many times as many: a build
/// costs more than pairs do.
inline constexpr std::size_t kLongerPairs = 4;

/// Returns the design for `pairs` pairs a candidate, and kLongerPairs times as many if they decide
/// nothing.
[[nodiscard]] SequentialRule::Design search_design(std::size_t pairs);

/// Search for the first candidate on which a layer or a model got worse.
struct Bisection {
  /// Search for the first bad one of a line of candidates, whose first is good.
  ///
  /// 1. The last candidate is compared with the first.
  /// 2. Halves of the line are left out. A candidate that is skipped or unknown says nothing: its
  ///    neighbours are tried, at doubling distances, so that a broken stretch is left soon.
  /// 3. The first bad candidate is compared with the last good one, independently of what led
  ///    there.
  ///
  /// Pure.
  class Search {
   public:
    /// A comparison that a search asks for. Both numbers are places in the line.
    struct Task {
      enum class Purpose {
        kEnds,          ///< is the last candidate worse than the first at all?
        kSearch,        ///< on which side of the change is a candidate?
        kConfirmation,  ///< is the first bad one worse than the last good one?
      };
      Purpose purpose = Purpose::kEnds;
      std::size_t candidate = 0;
      std::size_t against = 0;

      bool operator==(const Task&) const = default;
    };

    /// What a comparison says of a candidate.
    enum class State {
      kUntested,
      kGood,     ///< as good as what it was compared with
      kBad,      ///< slower, or broken
      kUnknown,  ///< measured, and still undecided
      kSkipped,  ///< cannot be measured, as it was not built
    };

    /// `candidates` is the length of the line, two at least.
    explicit Search(std::size_t candidates);

    /// Returns the comparison that is wanted next. Absent: the search is over.
    [[nodiscard]] std::optional<Task> next() const;
    /// Takes the result of the comparison that next() wants.
    void add(State state);

    /// Returns the state of the last candidate against the first.
    [[nodiscard]] State ends() const { return ends_; }
    /// Returns the state of the first bad one against the last good one. kUntested: not reached.
    [[nodiscard]] State confirmation() const { return confirmation_; }
    [[nodiscard]] std::size_t last_good() const { return good_; }
    /// Returns the first bad candidate so far. It means nothing unless ends() is kBad.
    [[nodiscard]] std::size_t first_bad() const { return bad_; }
    /// Returns whether no candidate lies between the two.
    [[nodiscard]] bool exact() const { return bad_ - good_ == 1; }
    [[nodiscard]] State state(std::size_t candidate) const { return states_[candidate]; }
    /// Returns about how many comparisons are still to come.
    [[nodiscard]] std::size_t left() const;

   private:
    [[nodiscard]] std::optional<std::size_t> middle() const;

    std::vector<State> states_;
    State ends_ = State::kUntested;
    State confirmation_ = State::kUntested;
    std::size_t good_ = 0;
    std::size_t bad_;
  };

  /// Sequential rule that tells on which side of a known change a candidate is.
  ///
  /// The change is a ratio above 1. A candidate before it has a ratio near 1 to the good end, one
  /// after it a ratio near the change. The rule decides once the interval of the mean lies on one
  /// side of the change's square root, which is their middle in logarithms. The interval is widened
  /// for the looks, which share kSideTail at each end. Decisions are final. Pure.
  class SideRule {
   public:
    /// On which side of a change a candidate is, as far as its pairs tell.
    enum class Side { kBefore, kAfter, kOpen };

    explicit SideRule(std::vector<std::size_t> looks);

    /// Judges the pairs of a candidate, the good end as their baseline.
    [[nodiscard]] Side judge(const PairedSamples& pairs, double change) const;

   private:
    std::vector<std::size_t> looks_;
    std::vector<double> tails_;  ///< at each look
  };

  /// One of a line of candidates: a stack, or a commit.
  struct Candidate {
    std::string name;   ///< of the stack; of a commit, its hash
    std::string about;  ///< version of the stack's library; subject of the commit
  };

  /// What a search compares: a layer, or a model in one mode.
  struct Subject {
    std::string name;  ///< a layer key, or subject_of() a model
    std::string mode;  ///< of a model, such as "plain"; empty: a layer

    bool operator==(const Subject&) const = default;
  };

  /// Comparison of one candidate with an earlier one, or why there is none.
  struct Step {
    Search::Task task;
    Search::State state = Search::State::kUnknown;
    Subject subject;
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

  /// What its candidates are.
  enum class Unit { kStack, kCommit };

  std::string what;                ///< as the user names it: a key, a model or a suite
  Unit unit = Unit::kStack;        ///< of the line
  std::vector<Candidate> line;     ///< good first, bad last
  std::optional<Subject> subject;  ///< absent: nothing is worse
  std::vector<Step> steps;         ///< in the order measured
  Search::State ends = Search::State::kUntested;
  Search::State confirmation = Search::State::kUntested;
  std::size_t last_good = 0;
  std::size_t first_bad = 0;  ///< with `ends` kBad
  std::size_t builds = 0;     ///< commits built, those before an interruption included
  bool complete = false;      ///< false: the user stopped it

  [[nodiscard]] bool found() const { return ends == Search::State::kBad; }
  /// Returns whether no candidate lies between the last good one and the first bad one.
  [[nodiscard]] bool exact() const { return found() && first_bad - last_good == 1; }
  [[nodiscard]] bool confirmed() const { return confirmation == Search::State::kBad; }
  /// Returns whether more measurements might say more: something is undecided or unconfirmed.
  [[nodiscard]] bool undecided() const;
};

[[nodiscard]] std::string_view to_text(Bisection::Search::Task::Purpose purpose);

[[nodiscard]] std::string_view to_text(Bisection::Search::State state);

[[nodiscard]] std::string_view to_text(Bisection::Unit unit);  ///< "stack", "commit"

/// Returns what a candidate is, as far as the steps say.
[[nodiscard]] Bisection::Search::State state_of(const Bisection& bisection, std::size_t candidate);

/// Returns the name of a candidate for people: a commit's first twelve digits, or a stack's name.
[[nodiscard]] std::string short_name(const Bisection& bisection, std::size_t candidate);

/// Returns what a search found, as one sentence.
[[nodiscard]] std::string conclusion(const Bisection& bisection);

}  // namespace plumb::analysis
