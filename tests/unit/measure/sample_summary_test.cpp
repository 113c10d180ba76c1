// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/sample_summary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace plumb::measure {
namespace {

std::vector<Seconds> seconds(std::initializer_list<double> values) {
  std::vector<Seconds> result;
  for (const double value : values) {
    result.emplace_back(value);
  }
  return result;
}

TEST(SampleSummary, has_only_zeros_without_samples) {
  const SampleSummary summary = summarize({});
  EXPECT_EQ(summary.n, 0U);
  EXPECT_EQ(summary.median, Seconds(0.0));
  EXPECT_FALSE(summary.min_has_company);
}

// One more than the two-sided 5% critical values of the sign test (Dixon and Mood, JASA 41, 1946: 0
// for n = 6, 1 for 9, 5 for 20, 17 for 50…).
TEST(SampleSummary, ranks_agree_with_published_table) {
  const std::vector<std::pair<std::size_t, std::size_t>> table{{6, 1},
                                                               {7, 1},
                                                               {8, 1},
                                                               {9, 2},
                                                               {10, 2},
                                                               {11, 2},
                                                               {12, 3},
                                                               {15, 4},
                                                               {20, 6},
                                                               {25, 8},
                                                               {30, 10},
                                                               {40, 14},
                                                               {50, 18},
                                                               {60, 22},
                                                               {64, 24}};
  for (const auto& [n, rank] : table) {
    EXPECT_EQ(median_interval_rank(n), rank) << n;
  }
}

TEST(SampleSummary, no_rank_reaches_95_percent_below_six_samples) {
  for (std::size_t n = 0; n < 6; ++n) {
    EXPECT_FALSE(median_interval_rank(n).has_value()) << n;
  }
}

// The normal approximation n/2 − 0.98·√n is exact to a rank for large n, also where 2^-n
// underflows.
TEST(SampleSummary, ranks_of_many_samples_follow_the_normal_approximation) {
  for (const std::size_t n : {1000UL, 2000UL, 100'000UL, 1'000'000UL}) {
    const double expected = static_cast<double>(n) / 2.0 - 0.98 * std::sqrt(static_cast<double>(n));
    ASSERT_TRUE(median_interval_rank(n).has_value());
    EXPECT_NEAR(static_cast<double>(*median_interval_rank(n)), expected, 1.5) << n;
  }
}

TEST(SampleSummary, sums_up_samples_in_any_order) {
  const SampleSummary summary = summarize(seconds({9, 2, 7, 4, 10, 1, 8, 3, 6, 5}));
  EXPECT_EQ(summary.n, 10U);
  EXPECT_DOUBLE_EQ(summary.median.count(), 5.5);
  EXPECT_DOUBLE_EQ(summary.interval.low.count(), 2.0);
  EXPECT_DOUBLE_EQ(summary.interval.high.count(), 9.0);
  EXPECT_DOUBLE_EQ(summary.min.count(), 1.0);
  EXPECT_DOUBLE_EQ(summary.p90.count(), 9.1);
  EXPECT_DOUBLE_EQ(summary.mean.count(), 5.5);
  EXPECT_FALSE(summary.min_has_company);
  EXPECT_NEAR(relative_half_width(summary).value(), 3.5 / 5.5, 1e-12);
}

TEST(SampleSummary, interval_of_few_samples_is_their_range) {
  const SampleSummary summary = summarize(seconds({3, 1, 2}));
  EXPECT_DOUBLE_EQ(summary.interval.low.count(), 1.0);
  EXPECT_DOUBLE_EQ(summary.interval.high.count(), 3.0);
}

// Type 7 of Hyndman and Fan (R's default): quantile(c(1, 3, 4, 8), c(.25, .5, .9)) = 2.5, 3.5, 6.8.
TEST(SampleSummary, quantile_is_type_seven) {
  const auto sorted = seconds({1, 3, 4, 8});
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.0).count(), 1.0);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.25).count(), 2.5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5).count(), 3.5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.9).count(), 6.8);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1.0).count(), 8.0);
}

TEST(SampleSummary, quantile_bears_hostile_input) {
  EXPECT_EQ(quantile({}, 0.5), Seconds(0.0));
  const auto sorted = seconds({1, 2});
  EXPECT_DOUBLE_EQ(quantile(sorted, -1.0).count(), 1.0);
  EXPECT_DOUBLE_EQ(quantile(sorted, 2.0).count(), 2.0);
}

TEST(SampleSummary, a_minimum_has_company_within_two_percent) {
  EXPECT_TRUE(summarize(seconds({1.00, 1.02, 2.0, 2.0})).min_has_company);
  EXPECT_FALSE(summarize(seconds({1.00, 1.03, 2.0, 2.0})).min_has_company);
  EXPECT_FALSE(summarize(seconds({1.0})).min_has_company) << "one sample is alone";
}

TEST(SampleSummary, no_relative_width_without_positive_median) {
  EXPECT_FALSE(relative_half_width(summarize(seconds({0, 0, 0}))).has_value());
}

}  // namespace
}  // namespace plumb::measure
