// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <random>

#include "harness/stats/statistical_tests.hpp"

namespace plumb::stats {
namespace {

TEST(AlphaSpending, one_look_spends_everything) {
  const AlphaSpending once({1.0});
  EXPECT_NEAR(spending_limits({1.0}, 0.01)[0], 0.01, 1e-12);
  EXPECT_NEAR(once.total_p(0, 0.01), 0.01, 1e-6);
}

TEST(AlphaSpending, spends_in_proportion_to_the_data) {
  // A million walks without a drift; the standard error of a rate of 2% is 0.00014.
  const std::vector<double> information{4.0 / 14, 9.0 / 14, 1.0};
  const boost::math::normal normal;
  std::mt19937_64 random(7);
  std::normal_distribution<double> step;
  constexpr int kWalks = 1'000'000;
  std::vector<double> bounds;
  for (const double limit : spending_limits(information, 0.05)) {
    bounds.push_back(boost::math::quantile(boost::math::complement(normal, limit)));
  }
  std::vector<int> rejected(information.size(), 0);
  for (int walk = 0; walk < kWalks; ++walk) {
    double sum = 0.0;
    double before = 0.0;
    for (std::size_t look = 0; look < information.size(); ++look) {
      sum += std::sqrt(information[look] - before) * step(random);
      before = information[look];
      if (sum / std::sqrt(before) > bounds[look]) {
        ++rejected[look];
        break;
      }
    }
  }
  double before = 0.0;
  for (std::size_t look = 0; look < information.size(); ++look) {
    EXPECT_NEAR(
        static_cast<double>(rejected[look]) / kWalks, 0.05 * (information[look] - before), 0.0006);
    before = information[look];
  }
}

TEST(AlphaSpending, total_p_is_the_inverse_of_the_limits) {
  const std::vector<double> information{0.25, 0.6, 1.0};
  const AlphaSpending spending(information);
  for (const double level : {1e-10, 1e-6, 0.001, 0.01, 0.05, 0.3}) {
    const std::vector<double> limits = spending_limits(information, level);
    for (std::size_t look = 0; look < limits.size(); ++look) {
      EXPECT_NEAR(spending.total_p(look, limits[look]) / level, 1.0, 0.01) << level << " " << look;
    }
  }
  EXPECT_EQ(spending.total_p(2, 0.999), 1.0);
  EXPECT_LT(spending.total_p(2, 1e-30), 1e-28);
  EXPECT_GT(spending.total_p(2, 1e-30), 0.0);
}

}  // namespace
}  // namespace plumb::stats
