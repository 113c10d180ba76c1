// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/alternation/shape_latencies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace plumb::analysis {
namespace {

using testing::ElementsAre;

std::vector<Seconds> milliseconds(const std::vector<double>& values) {
  std::vector<Seconds> seconds;
  for (const double value : values) {
    seconds.emplace_back(value * 1e-3);
  }
  return seconds;
}

TEST(Alternation, begins_with_each_shape_by_itself) {
  EXPECT_THAT(make_alternation(2, 2, AlternationReport::Order::kInTurn, 1),
              ElementsAre(0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1));
}

TEST(Alternation, is_drawn_from_its_seed) {
  const auto drawn = [](std::uint64_t seed) {
    return make_alternation(3, 100, AlternationReport::Order::kDrawn, seed);
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  const std::vector<std::uint32_t> sequence = drawn(1);
  ASSERT_EQ(sequence.size(), 3 * kOpeningExecutions + 600);
  for (std::uint32_t shape = 0; shape < 3; ++shape) {
    EXPECT_NEAR(
        static_cast<double>(std::count(sequence.begin() + 9, sequence.end(), shape)), 200.0, 50.0);
  }
}

TEST(Alternation, orders_have_names) {
  EXPECT_EQ(parse_alternation_order("in_turn"), AlternationReport::Order::kInTurn);
  EXPECT_EQ(parse_alternation_order(to_text(AlternationReport::Order::kDrawn)),
            AlternationReport::Order::kDrawn);
  EXPECT_FALSE(parse_alternation_order("random"));
}

TEST(ShapeLatencies, tell_the_first_the_steady_and_the_changed_apart) {
  const std::vector<std::string> shapes{"1×3", "8×3"};
  const std::vector<std::uint32_t> sequence{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1};
  const std::vector<AlternationReport::Shape> latencies = summarize_alternation(
      shapes, sequence, milliseconds({90, 50, 50, 200, 99, 99, 15, 10, 12, 75, 70, 71}));
  ASSERT_EQ(latencies.size(), 2U);
  EXPECT_EQ(latencies[0].shape, "1×3");
  EXPECT_EQ(latencies[0].first, Seconds(90e-3));
  EXPECT_EQ(latencies[0].steady.n, 2U);
  EXPECT_NEAR(latencies[0].steady.median.count(), 11e-3, 1e-9);
  EXPECT_EQ(latencies[0].changed.n, 1U);
  EXPECT_NEAR(latencies[0].change()->median.count(), 4e-3, 1e-9);
  EXPECT_NEAR(latencies[0].change()->interval.low.count(), 3e-3, 1e-9) << "10 to 12, and 15";
  EXPECT_EQ(latencies[1].first, Seconds(200e-3)) << "the first is no change, though it follows one";
  EXPECT_NEAR(latencies[1].steady.median.count(), 70.5e-3, 1e-9);
  EXPECT_NEAR(latencies[1].changed.median.count(), 75e-3, 1e-9);
}

TEST(ShapeTimes, are_those_of_each_turn_in_their_order) {
  const std::vector<std::uint32_t> sequence{0, 0, 0, 1, 1, 1, 0, 0, 1, 1};
  const std::vector<ShapeTimes> times =
      sort_alternation(2, sequence, milliseconds({90, 50, 50, 200, 99, 99, 15, 10, 75, 70}));
  ASSERT_EQ(times.size(), 2U);
  EXPECT_THAT(times[0].at(results::SeriesName::Turn::kFirst), ElementsAre(Seconds(90e-3)));
  EXPECT_THAT(times[0].at(results::SeriesName::Turn::kSteady), ElementsAre(Seconds(10e-3)));
  EXPECT_THAT(times[0].at(results::SeriesName::Turn::kChanged), ElementsAre(Seconds(15e-3)));
  EXPECT_THAT(times[1].at(results::SeriesName::Turn::kChanged), ElementsAre(Seconds(75e-3)));
}

TEST(ShapeLatencies, have_no_change_without_both_kinds_of_times) {
  const std::vector<std::string> shapes{"1×3"};
  const std::vector<std::uint32_t> sequence{0, 0, 0, 0, 0};
  const std::vector<AlternationReport::Shape> latencies =
      summarize_alternation(shapes, sequence, milliseconds({9, 2, 2, 1, 1}));
  EXPECT_EQ(latencies[0].steady.n, 2U);
  EXPECT_EQ(latencies[0].changed.n, 0U);
  EXPECT_FALSE(latencies[0].change());
}

}  // namespace
}  // namespace plumb::analysis
