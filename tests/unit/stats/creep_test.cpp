// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/stats/change_points.hpp"
#include "tests/support/noise_series.hpp"

namespace plumb::stats {
namespace {

std::vector<double> rising(NoiseSeries& source, std::size_t length, double rise, double noise) {
  std::vector<double> values = source.make(Noise::kGaussian, length);
  for (std::size_t i = 0; i < length; ++i) {
    // The source has 2% noise around 100.
    values[i] = (100.0 + (values[i] - 100.0) * noise / 0.02) *
                (1.0 + rise * static_cast<double>(i) / static_cast<double>(length));
  }
  return values;
}

TEST(Creep, finds_ten_percent_over_a_hundred_runs) {
  NoiseSeries source(3);
  int found = 0;
  for (int i = 0; i < 100; ++i) {
    const auto creep = find_creep(rising(source, 120, 0.12, 0.01));
    found += creep ? 1 : 0;
    if (creep) {
      EXPECT_LT(creep->best_index, 60U);
      EXPECT_GT(creep->newest, creep->best * 1.05);
    }
  }
  EXPECT_GE(found, 90);
}

TEST(Creep, quiet_series_do_not_creep) {
  NoiseSeries source(5);
  for (const Noise noise :
       {Noise::kGaussian, Noise::kAutocorrelated, Noise::kOutliers, Noise::kTwoStates}) {
    int found = 0;
    for (int i = 0; i < 500; ++i) {
      found += find_creep(source.make(noise, 200)) ? 1 : 0;
    }
    EXPECT_LE(found, 2) << static_cast<int>(noise);
  }
}

TEST(Creep, needs_history_and_positive_values) {
  NoiseSeries source(7);
  EXPECT_FALSE(find_creep(rising(source, 54, 0.5, 0.001)).has_value());
  std::vector<double> values = rising(source, 120, 0.5, 0.001);
  EXPECT_TRUE(find_creep(values).has_value());
  values[3] = 0.0;
  EXPECT_FALSE(find_creep(values).has_value());
}

}  // namespace
}  // namespace plumb::stats
