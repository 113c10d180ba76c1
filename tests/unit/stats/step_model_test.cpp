// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "harness/stats/segmentation.hpp"

namespace plumb::stats {
namespace {

using ::testing::ElementsAre;

std::vector<double> autocorrelated(std::size_t length, double rho) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double last = normal(random);
  for (std::size_t i = 0; i < length; ++i) {
    last = rho * last + std::sqrt(1.0 - rho * rho) * normal(random);
    values.push_back(last);
  }
  return values;
}

TEST(Segmentation, costs_by_hand) {
  const StepPath::Cost cost(std::vector<double>{1.0, 3.0, 5.0, 5.0});
  EXPECT_DOUBLE_EQ(cost(0, 2), 2.0);
  EXPECT_DOUBLE_EQ(cost(2, 4), 0.0);
  EXPECT_DOUBLE_EQ(cost.mean(0, 3), 3.0);
}

TEST(Segmentation, is_the_best_of_all) {
  // Every segmentation of 14 points into segments of at least five, by hand.
  const std::vector<double> values{0, 1, 0, 1, 0, 1, 4, 5, 4, 5, 4, 5, 4, 5};
  const StepPath::Cost cost(values);
  EXPECT_THAT(find_segments(cost, 5.0), ElementsAre(0, 6, 14));
  EXPECT_THAT(find_segments(cost, 1000.0), ElementsAre(0, 14));
  Boundaries bounds{0, 8, 14};
  settle_boundaries(bounds, cost);
  EXPECT_THAT(bounds, ElementsAre(0, 6, 14));
}

TEST(StepModel, estimates_correlation_around_levels) {
  std::vector<double> values = autocorrelated(4000, 0.6);
  for (std::size_t i = 2000; i < values.size(); ++i) {
    values[i] += 3.0;
  }
  const StepPath::Model::Noise noise = fit_noise(values, {0, 2000, 4000}, StepPath::Cost(values));
  EXPECT_NEAR(noise.correlation, 0.6, 0.04);
  EXPECT_NEAR(noise.variance, 1.0 - 0.36, 0.05);
}

TEST(StepModel, penalty_grows_with_correlation_and_steps) {
  EXPECT_DOUBLE_EQ(compute_penalty(100, 0.0, 1), 3.0 * std::log(100.0));
  EXPECT_DOUBLE_EQ(compute_penalty(100, 0.0, 4), 11.0 * std::log(100.0));
  EXPECT_DOUBLE_EQ(compute_penalty(100, 0.5, 1), 3.75 * std::log(100.0));
  EXPECT_EQ(compute_penalty(100, 0.5, 0), 0.0);
}

TEST(StepModel, keeps_the_coarse_models_of_its_path) {
  std::vector<double> values = autocorrelated(200, 0.0);
  for (std::size_t i = 100; i < values.size(); ++i) {
    values[i] += 5.0;
  }
  const StepPath path = find_levels(values);
  EXPECT_THAT(path.best.bounds, ElementsAre(0, 100, 200));
  EXPECT_THAT(path.coarse.back(), ElementsAre(0, 200));
  EXPECT_THAT(path.coarse[path.coarse.size() - 2], ElementsAre(0, 100, 200));
  EXPECT_THAT(without(path.best.bounds, 1), ElementsAre(0, 200));
}

}  // namespace
}  // namespace plumb::stats
