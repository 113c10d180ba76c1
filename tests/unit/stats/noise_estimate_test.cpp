// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>

#include "harness/stats/segmentation.hpp"
#include "tests/support/series_family.hpp"

namespace plumb::stats {
namespace {

TEST(NoiseEstimate, medians) {
  EXPECT_EQ(compute_median(std::vector<double>{3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(compute_median(std::vector<double>{4.0, 1.0, 2.0, 3.0}), 2.5);
}

TEST(NoiseEstimate, steps_and_outliers_hardly_count) {
  for (const NoiseFamily family : {NoiseFamily::kGaussian, NoiseFamily::kOutliers}) {
    std::vector<double> values = SeriesFamily(family, 1).draw(2000);
    std::for_each(values.begin() + 1000, values.end(), [](double& value) { value += 50.0; });
    EXPECT_NEAR(estimate_noise(values), 1.0, 0.1);
  }
}

TEST(NoiseEstimate, repeated_values_have_noise_too) {
  std::vector<double> values(100, 7.0);
  EXPECT_EQ(estimate_noise(values), 0.0);
  values[50] = 8.0;
  EXPECT_DOUBLE_EQ(estimate_noise(values), 0.01);
  for (std::size_t i = 0; i < values.size(); i += 5) {
    values[i] = 8.0;
  }
  EXPECT_GT(estimate_noise(values), 0.1);
}

TEST(NoiseEstimate, outliers_are_pulled_in_but_levels_are_kept) {
  std::vector<double> values = SeriesFamily(NoiseFamily::kGaussian, 2).draw(60);
  values[10] += 30.0;
  std::for_each(values.begin() + 30, values.begin() + 35, [](double& value) { value += 30.0; });
  const auto scaled = scale_series(values);
  ASSERT_TRUE(scaled.has_value());
  EXPECT_FALSE(scaled->logarithmic);
  EXPECT_LT(scaled->clipped[10], 10.0 / scaled->noise);
  for (std::size_t i = 30; i < 35; ++i) {
    EXPECT_EQ(scaled->clipped[i], scaled->values[i]) << "five points are a level";
  }
  EXPECT_FALSE(scale_series(std::vector<double>(20, 3.0)).has_value());
}

TEST(NoiseEstimate, the_last_point_of_a_level_is_no_outlier) {
  std::vector<double> values = SeriesFamily(NoiseFamily::kGaussian, 4).draw(60);
  std::for_each(values.begin() + 30, values.end(), [](double& value) { value += 30.0; });
  values[27] += 30.0;  // an outlier that moves the running median's edge
  values[26] += 30.0;
  const auto scaled = scale_series(values);
  EXPECT_EQ(scaled->clipped[29], scaled->values[29]);
  EXPECT_EQ(scaled->clipped[30], scaled->values[30]);
}

}  // namespace
}  // namespace plumb::stats
