// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <vector>

#include "harness/analysis/bisect/bisection.hpp"
#include "harness/analysis/report/change_json.hpp"

namespace plumb::analysis {
namespace {

using Purpose = Bisection::Search::Task::Purpose;

/// A line of candidates of which the first `culprit` are good, and what comparisons say of them.
struct Line {
  std::size_t length = 2;
  std::size_t culprit = 1;         ///< the first bad one
  std::set<std::size_t> silent{};  ///< skipped or undecided

  [[nodiscard]] Bisection::Search::State answer(const Bisection::Search::Task& task) const {
    if (task.purpose == Purpose::kSearch && silent.contains(task.candidate)) {
      return task.candidate % 2 == 0 ? Bisection::Search::State::kSkipped
                                     : Bisection::Search::State::kUnknown;
    }
    return (task.candidate >= culprit) == (task.against >= culprit)
               ? Bisection::Search::State::kGood
               : Bisection::Search::State::kBad;
  }
};

struct Walk {
  Bisection::Search search;
  std::vector<Bisection::Search::Task> tasks;
};

Walk walk(const Line& line) {
  Walk result{Bisection::Search(line.length), {}};
  std::set<std::size_t> tried;
  while (const std::optional<Bisection::Search::Task> task = result.search.next()) {
    if (task->purpose == Purpose::kSearch) {
      EXPECT_TRUE(tried.insert(task->candidate).second) << "tried twice: " << task->candidate;
      EXPECT_GT(task->candidate, result.search.last_good());
      EXPECT_LT(task->candidate, result.search.first_bad());
    }
    result.tasks.push_back(*task);
    result.search.add(line.answer(*task));
    if (result.tasks.size() > 2 * line.length + 2) {
      ADD_FAILURE() << "the search does not end";
      break;
    }
  }
  return result;
}

TEST(CandidateSearch, finds_every_culprit_of_every_line_by_halves) {
  for (std::size_t length = 2; length <= 70; ++length) {
    for (std::size_t culprit = 1; culprit < length; ++culprit) {
      const Walk found = walk({length, culprit});
      EXPECT_EQ(found.search.first_bad(), culprit) << length;
      EXPECT_EQ(found.search.last_good(), culprit - 1) << length;
      EXPECT_TRUE(found.search.exact());
      EXPECT_EQ(found.search.confirmation(), Bisection::Search::State::kBad);
      EXPECT_EQ(found.tasks.back(),
                (Bisection::Search::Task{Purpose::kConfirmation, culprit, culprit - 1}));
      const auto halvings = static_cast<std::size_t>(std::bit_width(length - 2));
      EXPECT_LE(found.tasks.size(), halvings + 2) << "the ends, the halvings, the confirmation";
    }
  }
}

TEST(CandidateSearch, builds_at_most_eight_of_sixty_four_commits) {
  for (std::size_t culprit = 1; culprit <= 64; ++culprit) {
    std::set<std::size_t> built;
    for (const Bisection::Search::Task& task : walk({65, culprit}).tasks) {
      built.insert({task.candidate, task.against});
    }
    EXPECT_LE(built.size(), 8U) << culprit;
  }
}

TEST(CandidateSearch, names_the_smallest_range_that_the_silent_ones_leave) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 3000; ++trial) {
    Line line;
    line.length = 2 + random() % 80;
    line.culprit = 1 + random() % (line.length - 1);
    const double share = static_cast<double>(random() % 101) / 100.0;
    for (std::size_t i = 1; i + 1 < line.length; ++i) {
      if (static_cast<double>(random() % 1000) / 1000.0 < share) {
        line.silent.insert(i);
      }
    }
    std::size_t good = line.culprit - 1;
    while (line.silent.contains(good)) {
      --good;
    }
    std::size_t bad = line.culprit;
    while (line.silent.contains(bad)) {
      ++bad;
    }
    const Walk found = walk(line);
    EXPECT_EQ(found.search.last_good(), good);
    EXPECT_EQ(found.search.first_bad(), bad);
    EXPECT_EQ(found.search.confirmation(), Bisection::Search::State::kBad);
    EXPECT_EQ(found.search.exact(), bad - good == 1);
  }
}

TEST(CandidateSearch, leaves_a_broken_stretch_soon) {
  // 20 of 64 are not built, around the middle: at doubling distances few of them are tried.
  Line line{65, 60};
  for (std::size_t i = 22; i < 42; ++i) {
    line.silent.insert(i);
  }
  const Walk found = walk(line);
  EXPECT_EQ(found.search.first_bad(), 60U);
  std::size_t skipped = 0;
  for (const Bisection::Search::Task& task : found.tasks) {
    skipped += line.silent.contains(task.candidate) ? 1U : 0U;
  }
  EXPECT_LE(skipped, 9U);
}

TEST(CandidateSearch, ends_at_once_if_the_ends_do_not_differ_or_are_undecided) {
  for (const Bisection::Search::State state :
       {Bisection::Search::State::kGood, Bisection::Search::State::kUnknown}) {
    Bisection::Search search(10);
    EXPECT_EQ(search.next(), (Bisection::Search::Task{Purpose::kEnds, 9, 0}));
    search.add(state);
    EXPECT_EQ(search.next(), std::nullopt);
    EXPECT_EQ(search.ends(), state);
    EXPECT_EQ(search.confirmation(), Bisection::Search::State::kUntested);
    EXPECT_EQ(search.left(), 0U);
  }
}

TEST(CandidateSearch, does_not_confirm_what_a_wrong_answer_led_to) {
  // The culprit is 7. One wrong answer says that 4 is bad: 4 against 3 then shows no change.
  Bisection::Search search(9);
  search.add(Bisection::Search::State::kBad);
  EXPECT_EQ(search.next()->candidate, 4U);
  search.add(Bisection::Search::State::kBad);
  while (search.next()->purpose == Purpose::kSearch) {
    search.add(Bisection::Search::State::kGood);
  }
  EXPECT_EQ(*search.next(), (Bisection::Search::Task{Purpose::kConfirmation, 4, 3}));
  search.add(Bisection::Search::State::kGood);
  EXPECT_EQ(search.next(), std::nullopt);
  EXPECT_EQ(search.confirmation(), Bisection::Search::State::kGood);
}

TEST(CandidateSearch, counts_down) {
  for (std::size_t length = 2; length <= 70; ++length) {
    const Line line{length, 1 + length / 3};
    Bisection::Search search(length);
    while (const std::optional<Bisection::Search::Task> task = search.next()) {
      const std::size_t left = search.left();
      search.add(line.answer(*task));
      EXPECT_LT(search.left(), left);
    }
  }
}

TEST(Bisection, names_its_candidates_by_their_unit) {
  Bisection bisection;
  bisection.line = {{"0123456789abcdef", "first"}, {"fedcba9876543210", "second"}};
  bisection.steps.emplace_back();
  const Json of_stacks = bisection_document(bisection);
  EXPECT_EQ(of_stacks["stacks"].size(), 2U);
  EXPECT_EQ(of_stacks["steps"][0]["stack"], "0123456789abcdef");
  EXPECT_EQ(of_stacks["steps"][0]["version"], "first");
  EXPECT_EQ(short_name(bisection, 1), "fedcba9876543210");

  bisection.unit = Bisection::Unit::kCommit;
  const Json of_commits = bisection_document(bisection);
  EXPECT_EQ(of_commits["commits"].size(), 2U);
  EXPECT_EQ(of_commits["steps"][0]["commit"], "0123456789abcdef");
  EXPECT_EQ(of_commits["steps"][0]["commit_subject"], "first");
  EXPECT_EQ(short_name(bisection, 1), "fedcba987654");
}

}  // namespace
}  // namespace plumb::analysis
