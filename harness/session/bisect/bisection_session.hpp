// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/analysis/bisect/bisection.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/paired/paired_session.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/stacks/built/build_cache.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Source of an ordered line of candidates, from a good one to a bad one.
class CandidateSource {
 public:
  /// A candidate that is ready to be measured. It cannot be if `problem` says why.
  struct Ready {
    std::string stack{};  ///< name, or path of a folder
    results::RunLabels labels{};
    std::string problem{};
    std::vector<std::string> tail{};  ///< of a build's log
    std::string log{};
    bool built = false;    ///< now, and not before
    bool stopped = false;  ///< by the user
  };

  /// Which commits are searched, and how they become stacks.
  struct Commits {
    std::filesystem::path repository;
    std::string good;
    std::string bad;
    stacks::BuildCache::Recipe recipe;
    std::size_t keep_builds = 16;
  };

  CandidateSource() = default;
  CandidateSource(const CandidateSource&) = delete;
  CandidateSource& operator=(const CandidateSource&) = delete;
  CandidateSource(CandidateSource&&) = delete;
  CandidateSource& operator=(CandidateSource&&) = delete;
  virtual ~CandidateSource() = default;

  [[nodiscard]] virtual analysis::Bisection::Unit unit() const = 0;
  [[nodiscard]] virtual const std::vector<analysis::Bisection::Candidate>& line() const = 0;
  /// Returns everything besides the line that decides what a candidate is.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Makes a candidate ready, which stays so while this object lives. `report` says what is done.
  [[nodiscard]] virtual Ready prepare(std::size_t candidate,
                                      const std::function<void(const std::string&)>& report) = 0;
};

/// Makes the line of stacks between a good one and a bad one, in the order of their libraries'
/// versions. Starts a worker of each stack to learn its version. `between` names stacks that may
/// lie between the two; none: all of the backend. A bad stack may be older than the good one.
[[nodiscard]] std::unique_ptr<CandidateSource> stack_candidates(const std::string& good,
                                                                const std::string& bad,
                                                                std::vector<std::string> between,
                                                                int threads,
                                                                const std::string& device = {});

/// Makes the line of commits of a git repository along first parents, each built in a worktree of
/// its own. Its stack folder must be a stack that a worker starts with. Keeps a reference to
/// `stop`. Throws Error{kUser} for a line or a folder that cannot be.
[[nodiscard]] std::unique_ptr<CandidateSource> commit_candidates(CandidateSource::Commits commits,
                                                                 const std::atomic<bool>& stop);

/// What a search compares: a layer, models end to end, or all of a suite.
struct BisectionQuestion {
  /// Judge of the comparisons of a search: when they have enough rounds, and what they say.
  class Judge {
   public:
    /// What a search looks for, as the comparison of its ends showed it.
    struct Change {
      analysis::Bisection::Subject subject;
      bool broken = false;  ///< it does not work at the bad end
      double ratio = 1.0;   ///< above 1, unless it is broken
    };

    /// `pairs` are wanted of a candidate, and more if they decide nothing.
    Judge(std::size_t pairs, analysis::RoundComparison::Limits limits);

    /// Returns how rounds of the ends are judged. Once `pairs` have shown something worse, nothing
    /// else is waited for, but the size of a slow-down is pinned down.
    [[nodiscard]] PairedRounds::Sequence::Judge of_ends() const;
    /// Returns how rounds of a candidate with the good end are judged.
    [[nodiscard]] PairedRounds::Sequence::Judge of_candidate(const Change& change) const;
    /// Returns how rounds of the first bad and the last good one are judged.
    [[nodiscard]] PairedRounds::Sequence::Judge of_confirmation() const;

    /// Concludes from the rounds of the ends. Fills in state, subject and test of the step.
    void conclude_ends(const analysis::RoundComparison& comparison,
                       analysis::Bisection::Step& step) const;
    /// Concludes from other rounds what a candidate is.
    void conclude(const analysis::RoundComparison& comparison,
                  const Change& change,
                  analysis::Bisection::Step& step) const;

   private:
    [[nodiscard]] analysis::Bisection::Search::State state_of(
        const analysis::RoundComparison::Metric& metric,
        const Change& change,
        std::size_t valid) const;

    std::size_t pairs_;
    analysis::RoundComparison::Limits limits_;
    analysis::SequentialRule rule_;
    analysis::Bisection::SideRule sides_;
  };

  /// Options for a search for the first candidate on which something is worse.
  struct Options {
    /// Of a candidate, with kLongerPairs times the pairs if they decide nothing. A search has no
    /// budget, and its question names the modes.
    PairedSession::Options paired;
    double drift = 0.10;  ///< of a control within a pair, for the pair to count
    bool resume = false;  ///< continues an unfinished search for the same
  };

  std::string what;  ///< as the user names it
  suite::ResolvedSuite suite;
  std::vector<PlannedModel> models;  ///< the suite's
  PairedRounds::Work work;           ///< what is compared between the ends
};

/// Returns the question for one layer. Throws Error{kUser} if it is no layer key.
[[nodiscard]] BisectionQuestion question_of_layer(const std::string& key);
/// Returns the question for a suite, or with `end_to_end_only` for its models without its layers.
/// Throws Error{kUser} if none of its models can be read.
[[nodiscard]] BisectionQuestion question_of_suite(const ModelSource& source,
                                                  std::string what,
                                                  suite::ResolvedSuite suite,
                                                  bool end_to_end_only);

/// Searches for the first candidate on which something is slower or broken.
///
/// The ends are compared first, and what is broken or slows down most between them is searched for.
/// Each candidate is then compared with the good end. At last the first bad one is compared with
/// the last good one. Every comparison is of new pairs. The steps are kept in a record until the
/// search ends. Throws Error{kUser} if an end of the line cannot be built or measured.
[[nodiscard]] analysis::Bisection bisect(const SessionContext& context,
                                         CandidateSource& source,
                                         const BisectionQuestion& question,
                                         const BisectionQuestion::Options& options);

}  // namespace plumb::session
