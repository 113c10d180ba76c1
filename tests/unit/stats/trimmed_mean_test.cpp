// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "harness/stats/statistical_tests.hpp"

namespace plumb::stats {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(TrimmedMean, of_one_to_ten_by_hand) {
  std::vector<double> values(10);
  std::iota(values.begin(), values.end(), 1.0);
  values.back() = 1000.0;  // cut off
  const TrimmedMean result = trimmed_mean(values);
  EXPECT_DOUBLE_EQ(result.mean, 5.5);
  EXPECT_DOUBLE_EQ(result.kept, 8.0);
  EXPECT_DOUBLE_EQ(result.freedom, 7.0);
  // winsorized 2 2 3 4 5 6 7 8 9 9: Σ(x − 5.5)² = 66.5; Yuen's squared error 66.5 ÷ (8 × 7)
  EXPECT_DOUBLE_EQ(result.variance / result.kept, 66.5 / 56.0);
}

TEST(TrimmedMean, below_five_values_nothing_is_cut) {
  const TrimmedMean result = trimmed_mean({1.0, 2.0, 6.0});
  EXPECT_DOUBLE_EQ(result.mean, 3.0);
  EXPECT_DOUBLE_EQ(result.variance, 7.0);
  EXPECT_DOUBLE_EQ(result.freedom, 2.0);
}

TEST(TrimmedMean, false_discoveries_as_in_the_paper) {
  // Benjamini and Hochberg 1995, §4.1: 15 p-values, of which the procedure at 0.05 rejects four.
  const std::vector<double> p{0.0001,
                              0.0004,
                              0.0019,
                              0.0095,
                              0.0201,
                              0.0278,
                              0.0298,
                              0.0344,
                              0.0459,
                              0.3240,
                              0.4262,
                              0.5719,
                              0.6528,
                              0.7590,
                              1.0000};
  const std::vector<double> q = false_discovery_q(p);
  EXPECT_EQ(std::count_if(q.begin(), q.end(), [](double each) { return each <= 0.05; }), 4);
  EXPECT_NEAR(q[0], 0.0015, 1e-12);
  EXPECT_NEAR(q[3], 0.0095 * 15 / 4, 1e-12);
  EXPECT_EQ(q[14], 1.0);
  EXPECT_TRUE(false_discovery_q({}).empty());
}

TEST(TrimmedMean, a_prior_of_variances_is_recovered) {
  // s² = s0² × F(d, d0): drawn with d = 4, d0 = 10, s0² = 2.
  std::mt19937_64 random(5);
  std::chi_squared_distribution<double> sample(4.0);
  std::chi_squared_distribution<double> prior(10.0);
  std::vector<TrimmedMean> variances;
  for (int i = 0; i < 20000; ++i) {
    variances.push_back({.mean = 0.0,
                         .variance = 2.0 * (sample(random) / 4.0) / (prior(random) / 10.0),
                         .kept = 5.0,
                         .freedom = 4.0});
  }
  const TrimmedMean::Prior found = variance_prior(variances);
  EXPECT_NEAR(found.freedom, 10.0, 1.0);
  EXPECT_NEAR(found.variance, 2.0, 0.1);
}

TEST(TrimmedMean, moderation_is_the_weighted_mean_of_both) {
  const TrimmedMean sample{.mean = 1.0, .variance = 4.0, .kept = 7.0, .freedom = 6.0};
  const TrimmedMean result = moderated(sample, {.variance = 1.0, .freedom = 6.0});
  EXPECT_DOUBLE_EQ(result.variance, 2.5);
  EXPECT_DOUBLE_EQ(result.freedom, 12.0);
  EXPECT_DOUBLE_EQ(moderated(sample, {}).variance, 4.0);
  EXPECT_DOUBLE_EQ(moderated(sample, {.variance = 1.0, .freedom = kInfinite}).variance, 1.0);
}

TEST(TrimmedMean, two_variances_say_nothing_of_each_other) {
  const std::vector<TrimmedMean> two(2,
                                     {.mean = 0.0, .variance = 1.0, .kept = 5.0, .freedom = 4.0});
  EXPECT_EQ(variance_prior(two).freedom, 0.0);
}

}  // namespace
}  // namespace plumb::stats
