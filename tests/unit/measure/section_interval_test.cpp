// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "harness/measure/sample_summary.hpp"

namespace plumb::measure {
namespace {

// Squares about 10: 4, 0, 1, 9; 14 ÷ 3 ÷ 4 = 1.08012², times 3.182446 (t, three degrees).
TEST(SectionInterval, reaches_as_far_as_students_t_around_the_whole) {
  const std::array sections{Seconds(8), Seconds(10), Seconds(11), Seconds(13)};
  const Interval interval = section_interval(Seconds(10), sections);
  EXPECT_NEAR(interval.low.count(), 10.0 - 3.437435, 1e-5);
  EXPECT_NEAR(interval.high.count(), 10.0 + 3.437435, 1e-5);
}

TEST(SectionInterval, is_never_below_zero) {
  const std::array sections{Seconds(1), Seconds(3)};
  const Interval interval = section_interval(Seconds(2), sections);
  EXPECT_EQ(interval.low, Seconds(0));
  EXPECT_NEAR(interval.high.count(), 2.0 + 12.706205, 1e-5);
}

TEST(SectionInterval, says_that_one_section_tells_nothing) {
  const std::array sections{Seconds(3)};
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}}) {
    const Interval interval = section_interval(Seconds(3), std::span(sections).first(count));
    EXPECT_EQ(interval.low, Seconds(0));
    EXPECT_EQ(interval.high, Seconds(6));
  }
}

// What it is for: eight sections of 50 samples each, of which all of a section are off by the same.
// The interval from order statistics takes 400 samples for independent.
TEST(SectionInterval, holds_the_median_of_samples_that_share_their_seconds) {
  constexpr std::size_t kTrials = 2000;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::size_t held = 0;
  std::size_t held_by_ranks = 0;
  for (std::size_t trial = 0; trial < kTrials; ++trial) {
    std::vector<Seconds> all;
    std::vector<Seconds> medians;
    for (std::size_t section = 0; section < 8; ++section) {
      const double shared = 100.0 + normal(random);
      std::vector<Seconds> own;
      for (std::size_t i = 0; i < 50; ++i) {
        own.emplace_back(shared + normal(random));
      }
      all.insert(all.end(), own.begin(), own.end());
      medians.push_back(summarize(own).median);
    }
    const SampleSummary whole = summarize(all);
    const auto holds = [](const Interval& interval) {
      return interval.low <= Seconds(100.0) && Seconds(100.0) <= interval.high;
    };
    held += holds(section_interval(whole.median, medians)) ? 1U : 0U;
    held_by_ranks += holds(whole.interval) ? 1U : 0U;
  }
  EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.95, 0.02);
  EXPECT_LT(static_cast<double>(held_by_ranks) / kTrials, 0.6);
}

}  // namespace
}  // namespace plumb::measure
