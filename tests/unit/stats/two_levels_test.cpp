// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/two_levels.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace plumb::stats {
namespace {

using Runs = std::vector<std::vector<double>>;

/// Makes runs of five processes, each `ratio` times as slow with probability `share`.
Runs bistable_runs(std::size_t count, double ratio, double share, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0.0, 0.01);
  std::bernoulli_distribution slow(share);
  Runs runs(count);
  for (std::vector<double>& run : runs) {
    for (int process = 0; process < 5; ++process) {
      run.push_back(std::log(30e-6) + noise(random) + (slow(random) ? std::log(ratio) : 0.0));
    }
  }
  return runs;
}

TEST(TwoLevels, finds_levels_and_counts_their_processes) {
  const auto found = find_two_levels(Runs{{0.0, 0.01, 0.5}, {0.51, 0.0, 0.02}, {0.5, 0.49}});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->low, 0.0075, 1e-12);
  EXPECT_NEAR(found->high, 0.5, 1e-12);
  EXPECT_EQ(found->processes.low, 4U);
  EXPECT_EQ(found->processes.high, 4U);
}

TEST(TwoLevels, takes_no_step_between_runs_for_a_second_level) {
  EXPECT_FALSE(find_two_levels(Runs{{0.0, 0.01, 0.02, 0.01, 0.0}, {0.5, 0.51, 0.49, 0.5, 0.52}}));
  // One process astray in one run is none either.
  EXPECT_FALSE(find_two_levels(Runs{{0.0, 0.01, 0.5, 0.01, 0.0}, {0.5, 0.51, 0.49, 0.5, 0.52}}));
}

TEST(TwoLevels, needs_eight_processes_and_two_at_each_level) {
  EXPECT_FALSE(find_two_levels(Runs{{0.0, 0.01, 0.5, 0.51}, {0.0, 0.5, 0.51}}));
  EXPECT_FALSE(find_two_levels(Runs{{0.0, 0.01, 0.02, 0.01}, {0.0, 0.01, 0.01, 0.5}}));
  EXPECT_FALSE(find_two_levels(Runs{}));
}

// Over a grid of noise and of run counts, processes without levels show none.
TEST(TwoLevels, shows_none_in_scatter_of_one_level) {
  std::mt19937_64 random(7);
  for (const double deviation : {0.001, 0.01, 0.03, 0.1}) {
    for (const std::size_t runs : {2U, 4U, 20U}) {
      int found = 0;
      constexpr int kDraws = 300;
      for (int draw = 0; draw < kDraws; ++draw) {
        std::normal_distribution<double> noise(0.0, deviation);
        Runs series(runs, std::vector<double>(5));
        for (std::vector<double>& run : series) {
          std::generate(run.begin(), run.end(), [&] { return noise(random); });
        }
        found += find_two_levels(series) ? 1 : 0;
      }
      EXPECT_LE(found, 3) << deviation << " " << runs;
    }
  }
}

TEST(TwoLevels, finds_more_often_what_lies_further_apart) {
  std::mt19937_64 random(8);
  int last = 0;
  for (const double ratio : {1.05, 1.12, 1.3, 1.6}) {
    int found = 0;
    for (int draw = 0; draw < 200; ++draw) {
      found += find_two_levels(bistable_runs(4, ratio, 0.4, random)) ? 1 : 0;
    }
    EXPECT_GE(found, last) << ratio;
    last = found;
  }
  EXPECT_GE(last, 190);
}

// R: fisher.test(matrix(c(3,1,1,3),2)) and of c(5,0,0,5), c(8,2,1,5).
TEST(SharesP, agrees_with_published_values) {
  EXPECT_NEAR(shares_p({3, 1}, {1, 3}), 0.4857142857, 1e-9);
  EXPECT_NEAR(shares_p({5, 0}, {0, 5}), 2.0 / 252.0, 1e-12);
  EXPECT_NEAR(shares_p({8, 2}, {1, 5}), 0.03496503497, 1e-9);
  EXPECT_DOUBLE_EQ(shares_p({5, 0}, {5, 0}), 1.0);
  EXPECT_DOUBLE_EQ(shares_p({0, 0}, {2, 3}), 1.0);
}

}  // namespace
}  // namespace plumb::stats
