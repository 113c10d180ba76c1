// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "harness/analysis/matrix/model_results.hpp"

namespace plumb::analysis {
namespace {

constexpr std::array kValues{1e-6, 0.3, 1.0, 7.0, 2e3};
constexpr std::array kWidths{1.0, 1.001, 1.3, 4.0};

Estimate wide(double value, double width) {
  return {value, value / width, value * width};
}

TEST(Estimate, of_a_time_needs_one_above_zero_and_an_interval_around_it) {
  EXPECT_FALSE(make_estimate(Seconds(0.0), {}));
  EXPECT_FALSE(make_estimate(Seconds(-1.0), {Seconds(-2.0), Seconds(0.5)}));
  EXPECT_FALSE(make_estimate(NAN, 1.0, 2.0));
  EXPECT_FALSE(make_estimate(INFINITY, 1.0, 2.0));
  EXPECT_FALSE(make_estimate(Seconds(1.0), {Seconds(0.0), Seconds(2.0)})->low) << "from zero";
  EXPECT_FALSE(make_estimate(Seconds(1.0), {Seconds(1.1), Seconds(2.0)})->low) << "beside it";
  EXPECT_DOUBLE_EQ(*make_estimate(Seconds(1.0), {Seconds(0.9), Seconds(1.2)})->high, 1.2);
}

TEST(Estimate, ratio_lies_in_its_interval_which_grows_with_those_of_its_parts) {
  for (const double above : kValues) {
    for (const double below : kValues) {
      double least = 0.0;
      for (const double width : kWidths) {
        const Estimate ratio = ratio_of(wide(above, width), wide(below, 1.1));
        EXPECT_DOUBLE_EQ(ratio.value, above / below);
        EXPECT_LE(*ratio.low, ratio.value);
        EXPECT_GE(*ratio.high, ratio.value);
        EXPECT_GE(*ratio.high / *ratio.low, least);
        least = *ratio.high / *ratio.low;
        const Estimate inverse = ratio_of(wide(below, 1.1), wide(above, width));
        EXPECT_NEAR(*inverse.low * *ratio.high, 1.0, 1e-9) << "÷ the other way";
      }
    }
  }
}

TEST(Estimate, ratio_of_exact_numbers_is_exact_and_of_one_without_interval_has_none) {
  const Estimate exact = ratio_of(wide(3.0, 1.0), wide(2.0, 1.0));
  EXPECT_DOUBLE_EQ(*exact.low, 1.5);
  EXPECT_DOUBLE_EQ(*exact.high, 1.5);
  EXPECT_FALSE(ratio_of({3.0, {}, {}}, wide(2.0, 1.1)).low);
  EXPECT_FALSE(ratio_of(wide(2.0, 1.1), {3.0, {}, {}}).high);
}

TEST(Estimate, rate_turns_the_interval_over) {
  const Estimate rate = rate_of(8.0, {2.0, 1.0, 4.0});
  EXPECT_DOUBLE_EQ(rate.value, 4.0);
  EXPECT_DOUBLE_EQ(*rate.low, 2.0);
  EXPECT_DOUBLE_EQ(*rate.high, 8.0);
}

TEST(Estimate, middle_of_one_run_is_that_run_and_of_two_spans_both) {
  const std::vector<Estimate> one{wide(5.0, 1.2)};
  EXPECT_DOUBLE_EQ(*middle_of(one).high, 6.0);
  const std::vector<Estimate> two{{1.0, 0.9, 1.1}, {4.0, 3.0, 5.0}};
  EXPECT_DOUBLE_EQ(middle_of(two).value, 2.0);
  EXPECT_DOUBLE_EQ(*middle_of(two).low, 0.9);
  EXPECT_DOUBLE_EQ(*middle_of(two).high, 5.0);
}

TEST(Estimate, middle_of_three_does_not_follow_an_outlier_but_its_interval_tells_it) {
  const std::vector<Estimate> quiet{{1.0, {}, {}}, {1.02, {}, {}}, {0.98, {}, {}}};
  const std::vector<Estimate> noisy{{1.0, {}, {}}, {1.02, {}, {}}, {9.0, {}, {}}};
  EXPECT_DOUBLE_EQ(middle_of(quiet).value, 1.0);
  EXPECT_DOUBLE_EQ(middle_of(noisy).value, 1.02);
  EXPECT_GT(*middle_of(noisy).high, 5.0 * *middle_of(quiet).high);
}

TEST(Estimate, middle_is_the_same_in_any_order_and_lies_in_its_interval) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> draw(0.0, 0.3);
  for (std::size_t n = 1; n < 12; ++n) {
    std::vector<Estimate> runs(n);
    for (Estimate& run : runs) {
      run = wide(draw(random), 1.05);
    }
    const Estimate before = middle_of(runs);
    EXPECT_LE(*before.low, before.value);
    EXPECT_GE(*before.high, before.value);
    std::shuffle(runs.begin(), runs.end(), random);
    EXPECT_NEAR(middle_of(runs).value, before.value, 1e-12);
    EXPECT_NEAR(*middle_of(runs).low, *before.low, 1e-12);
  }
}

}  // namespace
}  // namespace plumb::analysis
