// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "harness/stats/statistical_tests.hpp"

namespace plumb::stats {
namespace {

TEST(GeometricMean, of_one_two_and_four_is_two_with_students_interval) {
  const auto mean = geometric_mean(std::vector<double>{1.0, 2.0, 4.0});
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, 2.0);
  EXPECT_EQ(mean->n, 3U);
  // Deviation of the logarithms: ln 2. t with two degrees of freedom: 4.302653.
  const double reach = 4.302653 * std::log(2.0) / std::sqrt(3.0);
  EXPECT_NEAR(*mean->low, 2.0 * std::exp(-reach), 1e-6);
  EXPECT_NEAR(*mean->high, 2.0 * std::exp(reach), 1e-5);
}

TEST(GeometricMean, of_nothing_is_absent_and_of_one_value_has_no_interval) {
  EXPECT_FALSE(geometric_mean({}));
  const auto one = geometric_mean(std::vector<double>{3.0});
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->mean, 3.0);
  EXPECT_FALSE(one->low);
  EXPECT_FALSE(one->high);
}

TEST(GeometricMean, lies_in_its_interval_and_follows_a_change_of_unit_and_direction) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> draw(0.0, 0.5);
  for (std::size_t n = 2; n < 40; n += 3) {
    std::vector<double> values(n);
    std::vector<double> scaled(n);
    std::vector<double> inverse(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = draw(random);
      scaled[i] = values[i] * 1e-6;
      inverse[i] = 1.0 / values[i];
    }
    const GeometricMean mean = *geometric_mean(values);
    EXPECT_LE(*mean.low, mean.mean);
    EXPECT_GE(*mean.high, mean.mean);
    EXPECT_NEAR(geometric_mean(scaled)->mean / mean.mean, 1e-6, 1e-15) << n;
    EXPECT_NEAR(geometric_mean(inverse)->mean * mean.mean, 1.0, 1e-12) << n;
    EXPECT_NEAR(*geometric_mean(inverse)->low * *mean.high, 1.0, 1e-12) << n;
  }
}

TEST(GeometricMean, covers_the_truth_in_95_of_100_draws) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> draw(0.3, 0.4);
  constexpr int kDraws = 4000;
  int covered = 0;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<double> values(8);
    for (double& value : values) {
      value = draw(random);
    }
    const GeometricMean mean = *geometric_mean(values);
    covered += *mean.low <= std::exp(0.3) && std::exp(0.3) <= *mean.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kDraws, 0.95, 0.011) << "three deviations";
}

}  // namespace
}  // namespace plumb::stats
