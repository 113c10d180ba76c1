// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "harness/analysis/matrix/matrix.hpp"
#include "tests/unit/analysis/matrix_runs.hpp"

namespace plumb::analysis {
namespace {

Matrix times_of(std::vector<ModelResults> models) {
  return make_matrix(std::vector<Matrix::Run>{run_of("1", "x", std::move(models))},
                     {.rows = Axis::kModel, .columns = Axis::kBatch});
}

MatrixReport::Front front_of(std::vector<ModelResults> models, std::optional<Seconds> limit = {}) {
  return pareto_fronts(times_of(std::move(models)), limit).at(0);
}

TEST(ParetoFront, leaves_out_a_batch_that_is_slower_without_a_gain) {
  // Inputs a second: 1, 4, 3.2.
  const MatrixReport::Front front =
      front_of({timed_model("m", 1.0, 1), timed_model("m", 2.0, 8), timed_model("m", 5.0, 16)});
  ASSERT_EQ(front.points.size(), 3U);
  EXPECT_TRUE(front.points[0].on_front);
  EXPECT_TRUE(front.points[1].on_front);
  EXPECT_FALSE(front.points[2].on_front);
  EXPECT_FALSE(front.best) << "without a limit none is the best";
}

TEST(ParetoFront, best_is_the_highest_throughput_whose_whole_interval_is_within_the_limit) {
  // Intervals reach 2 % to both sides.
  const std::vector<ModelResults> models{
      timed_model("m", 1.0, 1), timed_model("m", 2.0, 8), timed_model("m", 4.0, 32)};
  const MatrixReport::Front front = front_of(models, Seconds(2.01));
  EXPECT_EQ(front.points[0].limit, MatrixReport::Front::Verdict::kKept);
  EXPECT_EQ(front.points[1].limit, MatrixReport::Front::Verdict::kUncertain)
      << "2.04 s is in its interval";
  EXPECT_EQ(front.points[2].limit, MatrixReport::Front::Verdict::kMissed);
  EXPECT_EQ(front.best, 0U);
  EXPECT_EQ(front_of(models, Seconds(2.05)).best, 1U);
  EXPECT_FALSE(front_of(models, Seconds(0.5)).best);
}

TEST(ParetoFront, a_batch_without_a_time_is_on_no_front_and_says_why) {
  const MatrixReport::Front front =
      front_of({timed_model("m", 1.0, 1),
                failed_model("m", results::Outcome::Kind::kOutOfMemory, "8 GiB", 64)},
               Seconds(5.0));
  ASSERT_EQ(front.points.size(), 1U);
  ASSERT_EQ(front.absent.size(), 1U);
  EXPECT_EQ(front.absent[0].batch, 64);
  EXPECT_EQ(front.absent[0].missing.word, "out of memory");
}

TEST(ParetoFront, over_random_times_no_point_of_the_front_is_beaten_and_every_other_is) {
  std::mt19937_64 random(13);
  std::uniform_int_distribution<int> draw(1, 40);
  for (int round = 0; round < 200; ++round) {
    std::vector<ModelResults> models;
    for (const int batch : {1, 2, 4, 8, 16, 32}) {
      models.push_back(timed_model("m", draw(random), batch));
    }
    const MatrixReport::Front front = front_of(models, Seconds(draw(random)));
    const auto beats = [](const MatrixReport::Front::Point& one,
                          const MatrixReport::Front::Point& other) {
      return one.seconds.value <= other.seconds.value &&
             one.inputs_per_second.value >= other.inputs_per_second.value &&
             (one.seconds.value < other.seconds.value ||
              one.inputs_per_second.value > other.inputs_per_second.value);
    };
    std::size_t on_front = 0;
    for (const MatrixReport::Front::Point& point : front.points) {
      bool beaten = false;
      for (const MatrixReport::Front::Point& other : front.points) {
        beaten = beaten || beats(other, point);
      }
      EXPECT_EQ(point.on_front, !beaten);
      on_front += point.on_front ? 1U : 0U;
    }
    EXPECT_GE(on_front, 1U);
    if (front.best) {
      EXPECT_TRUE(front.points[*front.best].on_front);
    }
  }
}

}  // namespace
}  // namespace plumb::analysis
