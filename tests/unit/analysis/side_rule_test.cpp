// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

#include "harness/analysis/bisect/bisection.hpp"

namespace plumb::analysis {
namespace {

using Purpose = Bisection::Search::Task::Purpose;

constexpr std::size_t kPairs = 20;

/// A source of ln(candidate ÷ baseline) of a pair without a change.
using Noise = std::function<double(std::mt19937_64&)>;

Noise normal_noise(double deviation) {
  return [deviation](std::mt19937_64& random) {
    return std::normal_distribution<double>(0.0, deviation)(random);
  };
}

/// As on a host with neighbours: one pair in ten differs ten times as much.
Noise heavy_noise(double deviation) {
  return [deviation](std::mt19937_64& random) {
    const double factor = random() % 10 == 0 ? 10.0 : 1.0;
    return std::normal_distribution<double>(0.0, factor * deviation)(random);
  };
}

PairedSamples pairs_of(double ratio,
                       std::size_t count,
                       const Noise& noise,
                       std::mt19937_64& random) {
  PairedSamples pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.baseline.push_back(1e-3);
    pairs.candidate.push_back(1e-3 * ratio * std::exp(noise(random)));
  }
  return pairs;
}

const SequentialRule& sequential() {
  static const SequentialRule kRule(search_design(kPairs));
  return kRule;
}

const Bisection::SideRule& sides() {
  static const Bisection::SideRule kRule(sequential().looks());
  return kRule;
}

TEST(SearchDesign, adds_looks_at_two_and_four_times_the_pairs) {
  EXPECT_THAT(search_design(20).looks, testing::ElementsAre(6, 10, 15, 20, 40, 80));
  EXPECT_THAT(search_design(6).looks, testing::ElementsAre(3, 6, 12, 24));
}

TEST(SideRule, decides_at_its_looks_alone_and_keeps_its_decisions) {
  PairedSamples pairs;
  for (int i = 0; i < 80; ++i) {
    pairs.baseline.push_back(1.0);
    pairs.candidate.push_back(i < 10 ? 1.0 : 1.2);
    const Bisection::SideRule::Side side = sides().judge(pairs, 1.1);
    EXPECT_EQ(side, i < 5 ? Bisection::SideRule::Side::kOpen : Bisection::SideRule::Side::kBefore)
        << i;
  }
  EXPECT_EQ(sides().judge({"", {1, 1, 0}, {1, 1, 1}}, 1.1), Bisection::SideRule::Side::kOpen);
}

TEST(SideRule, is_seldom_wrong_even_where_a_candidate_lies_at_the_limit) {
  std::mt19937_64 random(3);
  constexpr int kTrials = 2000;
  int wrong_at_limit = 0;
  int wrong_at_end = 0;
  int decided = 0;
  for (int i = 0; i < kTrials; ++i) {
    const auto at_limit = pairs_of(std::sqrt(1.03), 80, normal_noise(0.01), random);
    wrong_at_limit += sides().judge(at_limit, 1.03) == Bisection::SideRule::Side::kAfter ? 1 : 0;
    const auto good = pairs_of(1.0, 80, normal_noise(0.02), random);
    wrong_at_end += sides().judge(good, 1.03) == Bisection::SideRule::Side::kAfter ? 1 : 0;
    decided += sides().judge(good, 1.03) == Bisection::SideRule::Side::kBefore ? 1 : 0;
  }
  EXPECT_LE(wrong_at_limit, kTrials * 3 * kSideTail / 2);
  EXPECT_EQ(wrong_at_end, 0);
  EXPECT_GE(decided, kTrials * 99 / 100);
}

/// A whole search in a line of 65 with a planted change, as a session makes it.
struct Found {
  bool right = false;
  bool holds = false;  ///< the culprit is among those named
  bool confirmed = false;
  std::size_t candidates = 0;  ///< that were measured
};

Bisection::Search::State regression(const PairedSamples& pairs) {
  const SequentialRule::Pairs staged{pairs, sequential().looks().front()};
  switch (sequential()
              .judge({&staged, 1},
                     {.kind = MetricKind::kLayer,
                      .change = {.level = 0.01, .floor = 0.02, .margin = 0.02}})[0]
              .metric.verdict) {
    case ComparisonVerdict::kRegressed:
      return Bisection::Search::State::kBad;
    case ComparisonVerdict::kInconclusive:
      return Bisection::Search::State::kUnknown;
    default:
      return Bisection::Search::State::kGood;
  }
}

PairedSamples first_of(const PairedSamples& pairs, std::size_t count) {
  const auto end = static_cast<std::ptrdiff_t>(count);
  return {"",
          {pairs.baseline.begin(), pairs.baseline.begin() + end},
          {pairs.candidate.begin(), pairs.candidate.begin() + end}};
}

/// Returns the change of the ends once it is known, and pinned down, or the pairs are used up.
double change_of_ends(const PairedSamples& pairs) {
  MetricComparison metric;
  for (const std::size_t look : sequential().looks()) {
    const PairedSamples first = first_of(pairs, look);
    const bool pinned = estimate_change(first, metric);
    if (pinned && regression(first) == Bisection::Search::State::kBad) {
      break;
    }
  }
  return *metric.ratio;
}

Found search_line(std::size_t culprit, double change, const Noise& noise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bisection::Search search(65);
  Found found;
  double ratio = 1.0;
  while (const std::optional<Bisection::Search::Task> task = search.next()) {
    const bool slower = task->candidate >= culprit && task->against < culprit;
    const PairedSamples pairs =
        pairs_of(slower ? change : 1.0, kLongerPairs * kPairs, noise, random);
    Bisection::Search::State state = Bisection::Search::State::kUnknown;
    if (task->purpose != Purpose::kSearch) {
      state = regression(pairs);
    } else {
      const Bisection::SideRule::Side side = sides().judge(pairs, ratio);
      state = side == Bisection::SideRule::Side::kAfter    ? Bisection::Search::State::kBad
              : side == Bisection::SideRule::Side::kBefore ? Bisection::Search::State::kGood
                                                           : Bisection::Search::State::kUnknown;
    }
    if (task->purpose == Purpose::kEnds) {
      ratio = change_of_ends(pairs);
      state = ratio > 1.0 ? state : Bisection::Search::State::kUnknown;
      found.candidates += 2;
    }
    found.candidates += task->purpose == Purpose::kSearch ? 1U : 0U;
    search.add(state);
  }
  found.confirmed = search.confirmation() == Bisection::Search::State::kBad;
  found.holds = search.last_good() < culprit && culprit <= search.first_bad();
  found.right = search.exact() && found.holds;
  return found;
}

TEST(ChangeEstimate, is_pinned_down_by_enough_pairs) {
  std::mt19937_64 random(5);
  const PairedSamples pairs = pairs_of(1.03, 80, normal_noise(0.02), random);
  MetricComparison metric;
  EXPECT_FALSE(estimate_change(first_of(pairs, 6), metric));
  EXPECT_TRUE(estimate_change(pairs, metric));
  EXPECT_NEAR(*metric.ratio, 1.03, 0.01);
  EXPECT_FALSE(estimate_change({"", {1, 1}, {1, 1}}, metric));
}

TEST(WholeSearch, finds_three_percent_with_eight_builds_over_positions_and_noise) {
  for (const auto& [name, noise] : {std::pair{"1 %", normal_noise(0.01)},
                                    {"2 %", normal_noise(0.02)},
                                    {"heavy", heavy_noise(0.01)}}) {
    int right = 0;
    int searches = 0;
    for (std::size_t culprit = 1; culprit <= 64; culprit += 3) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const Found found = search_line(culprit, 1.03, noise, 100 * culprit + seed);
        right += found.right && found.confirmed && found.candidates <= 8 ? 1 : 0;
        ++searches;
      }
    }
    EXPECT_GE(right, searches * 95 / 100) << name << " of " << searches;
  }
}

TEST(WholeSearch, never_confirms_a_wrong_one_where_noise_hides_the_change) {
  int wrong = 0;
  int undecided = 0;
  int searches = 0;
  for (const double deviation : {0.04, 0.08, 0.2}) {
    for (std::size_t culprit = 1; culprit <= 64; culprit += 7) {
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Found found = search_line(culprit, 1.03, normal_noise(deviation), seed);
        wrong += found.confirmed && !found.holds ? 1 : 0;
        undecided += found.confirmed ? 0 : 1;
        ++searches;
      }
    }
  }
  EXPECT_LE(wrong, searches / 50) << "of " << searches;
  EXPECT_GT(undecided, searches / 3);
}

TEST(WholeSearch, finds_nothing_where_nothing_changed) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    found += search_line(65, 1.03, normal_noise(0.02), seed).candidates > 2 ? 1 : 0;
  }
  EXPECT_LE(found, 4);
}

}  // namespace
}  // namespace plumb::analysis
