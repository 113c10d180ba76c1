// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/metric_test.hpp"
#include "harness/analysis/compare/rounds/paired_comparison.hpp"

namespace plumb::analysis {

/// What a comparison says of a candidate.
enum class CandidateState {
  kUntested,
  kGood,     ///< as good as what it was compared with
  kBad,      ///< slower, or broken
  kUnknown,  ///< measured, and still undecided
  kSkipped,  ///< cannot be measured, as it was not built
};
[[nodiscard]] std::string_view to_text(CandidateState state);

/// A comparison that a search asks for. Both numbers are places in the line.
struct SearchTask {
  enum class Purpose {
    kEnds,          ///< is the last candidate worse than the first at all?
    kSearch,        ///< on which side of the change is a candidate?
    kConfirmation,  ///< is the first bad one worse than the last good one?
  };
  Purpose purpose = Purpose::kEnds;
  std::size_t candidate = 0;
  std::size_t against = 0;

  bool operator==(const SearchTask&) const = default;
};
[[nodiscard]] std::string_view to_text(SearchTask::Purpose purpose);

/// Search for the first bad one of a line of candidates, whose first is good.
///
/// 1. The last candidate is compared with the first.
/// 2. Halves of the line are left out. A candidate that is skipped or unknown says nothing: its
///    neighbours are tried, at doubling distances, so that a broken stretch is left soon.
/// 3. The first bad candidate is compared with the last good one, independently of what led there.
///
/// Pure.
class CandidateSearch {
 public:
  /// `candidates` is the length of the line, two at least.
  explicit CandidateSearch(std::size_t candidates);

  /// Returns the comparison that is wanted next. Absent: the search is over.
  [[nodiscard]] std::optional<SearchTask> next() const;
  /// Takes the result of the comparison that next() wants.
  void add(CandidateState state);

  /// Returns the state of the last candidate against the first.
  [[nodiscard]] CandidateState ends() const { return ends_; }
  /// Returns the state of the first bad one against the last good one. kUntested: not reached.
  [[nodiscard]] CandidateState confirmation() const { return confirmation_; }
  [[nodiscard]] std::size_t last_good() const { return good_; }
  /// Returns the first bad candidate so far. It means nothing unless ends() is kBad.
  [[nodiscard]] std::size_t first_bad() const { return bad_; }
  /// Returns whether no candidate lies between the two.
  [[nodiscard]] bool exact() const { return bad_ - good_ == 1; }
  [[nodiscard]] CandidateState state(std::size_t candidate) const { return states_[candidate]; }
  /// Returns about how many comparisons are still to come.
  [[nodiscard]] std::size_t left() const;

 private:
  [[nodiscard]] std::optional<std::size_t> middle() const;

  std::vector<CandidateState> states_;
  CandidateState ends_ = CandidateState::kUntested;
  CandidateState confirmation_ = CandidateState::kUntested;
  std::size_t good_ = 0;
  std::size_t bad_;
};

/// On which side of a change a candidate is, as far as its pairs tell.
enum class ChangeSide { kBefore, kAfter, kOpen };

/// Sequential rule that tells on which side of a known change a candidate is.
///
/// The change is a ratio above 1. A candidate before it has a ratio near 1 to the good end, one
/// after it a ratio near the change. The rule decides once the interval of the mean lies on one
/// side of the change's square root, which is their middle in logarithms. The interval is widened
/// for the looks, which share kSideTail at each end. Decisions are final. Pure.
class SideRule {
 public:
  explicit SideRule(std::vector<std::size_t> looks);

  /// Judges the pairs of a candidate, the good end as their baseline.
  [[nodiscard]] ChangeSide judge(const PairedSamples& pairs, double change) const;

 private:
  std::vector<std::size_t> looks_;
  std::vector<double> tails_;  ///< at each look
};

/// Fills in times, ratio and interval of a change from all pairs. Returns whether they pin it down:
/// the interval reaches at most a quarter of the change to either side, so that its middle is a
/// sound limit for SideRule.
[[nodiscard]] bool estimate_change(const PairedSamples& pairs, MetricComparison& metric);

/// Probability of an interval's end on the wrong side, over all looks. A candidate that really is
/// at an end of the change is misjudged far more rarely, since the limit is half a change away.
inline constexpr double kSideTail = 0.01;

/// A candidate that is undecided after the usual pairs gets up to so many times as many: a build
/// costs more than pairs do.
inline constexpr std::size_t kLongerPairs = 4;

/// Returns the design for `pairs` pairs a candidate, and kLongerPairs times as many if they decide
/// nothing.
[[nodiscard]] SequentialDesign search_design(std::size_t pairs);

}  // namespace plumb::analysis
