// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/analysis/history/run_series.hpp"

namespace plumb::analysis {
namespace {

LearnedNoise::RunTimes times_of(std::vector<double> model, double layer) {
  LearnedNoise::RunTimes times;
  for (const double seconds : model) {
    times.logs["models/m/end_to_end/plain/single_stream"].push_back(std::log(seconds));
  }
  times.logs["layers/v1:x"] = {std::log(layer)};
  return times;
}

TEST(MiddleRun, is_that_of_the_models) {
  const std::vector<LearnedNoise::RunTimes> runs{
      times_of({1.0, 1.1, 9.0}, 3.0), times_of({0.9, 0.9, 0.9}, 1.0), times_of({1.3}, 2.0)};
  EXPECT_EQ(middle_run(runs), 0U) << "its median is 1.1: one slow process does not count";
}

TEST(MiddleRun, is_that_of_the_layers_where_models_are_not_in_all_runs) {
  const std::vector<LearnedNoise::RunTimes> runs{
      times_of({}, 3.0), times_of({0.9}, 1.0), times_of({1.3}, 2.0)};
  EXPECT_EQ(middle_run(runs), 2U);
}

TEST(MiddleRun, is_not_chosen_by_cold_times_among_other_shapes) {
  std::vector<LearnedNoise::RunTimes> runs{
      times_of({1.0}, 1.0), times_of({1.1}, 1.0), times_of({1.2}, 1.0)};
  const std::vector<double> cold{2.0, 5.0, 0.0};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].logs["models/m/alternation/plain/first"] = {cold[i]};
  }
  EXPECT_EQ(middle_run(runs), 1U);
}

TEST(MiddleRun, of_two_is_the_slower) {
  const std::vector<LearnedNoise::RunTimes> runs{times_of({2.0}, 1.0), times_of({1.0}, 1.0)};
  EXPECT_EQ(middle_run(runs), 0U);
  EXPECT_EQ(middle_run(std::vector<LearnedNoise::RunTimes>{times_of({2.0}, 1.0)}), 0U);
}

}  // namespace
}  // namespace plumb::analysis
