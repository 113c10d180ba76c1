// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "harness/analysis/compare/process_deviation.hpp"

namespace plumb::analysis {
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

/// Share of 400 comparisons of two runs below 1 %, where the candidate's levels are `slower` and
/// its share of slow processes is `share`.
double share_of_alarms(double slower, double share) {
  std::mt19937_64 random(9);
  int alarms = 0;
  int comparisons = 0;
  while (comparisons < 400) {
    const Runs history = bistable_runs(8, 1.6, 0.4, random);
    Runs candidate = bistable_runs(1, 1.6, share, random);
    for (double& log : candidate.front()) {
      log += std::log(slower);
    }
    MetricComparison metric;
    const double p = test_processes(
        metric, history.back(), candidate.front(), 0.01, {{}, {0.009, 1e6, false}, history});
    if (metric.levels) {
      alarms += p < 0.01 ? 1 : 0;
      ++comparisons;
    }
  }
  return alarms / 400.0;
}

TEST(TestProcesses, compares_levels_and_shares_of_a_bistable_series) {
  EXPECT_LE(share_of_alarms(1.0, 0.4), 0.02);
  // Three processes at a level of either side resolve a step of the level.
  EXPECT_GE(share_of_alarms(1.15, 0.0), 0.3);
}

TEST(TestProcesses, tells_the_times_of_the_level_that_changed) {
  const Runs history{{0.0, 0.01, 0.5, 0.51, 0.005}, {0.0, 0.5, 0.01, 0.005, 0.008}};
  const std::vector<double> candidate{0.100, 0.101, 0.099, 0.1, 0.102};
  MetricComparison metric;
  const double p =
      test_processes(metric, history.back(), candidate, 0.01, {{}, {0.009, 1e6, false}, history});
  ASSERT_TRUE(metric.levels);
  EXPECT_EQ(metric.levels->baseline.low, 4U);
  EXPECT_EQ(metric.levels->candidate.low, 5U);
  EXPECT_NEAR(metric.baseline, 1.006, 0.002);
  EXPECT_NEAR(*metric.ratio, std::exp(0.095), 0.005);
  EXPECT_LT(p, 0.01);
}

}  // namespace
}  // namespace plumb::analysis
