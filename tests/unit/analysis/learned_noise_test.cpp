// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/history/run_series.hpp"

namespace plumb::analysis {
namespace {

/// Makes runs of `series` series with five processes each.
std::vector<LearnedNoise::RunTimes> runs_of(std::size_t count,
                                            std::size_t series,
                                            double between_runs,
                                            double between_processes,
                                            std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<LearnedNoise::RunTimes> runs(count);
  for (LearnedNoise::RunTimes& run : runs) {
    for (std::size_t i = 0; i < series; ++i) {
      const double level = between_runs * normal(random);
      std::vector<double>& logs = run.logs["models/m" + std::to_string(i) + "|1|f32/end_to_end"];
      for (int process = 0; process < 5; ++process) {
        logs.push_back(level + between_processes * normal(random));
      }
    }
  }
  return runs;
}

TEST(LearnedNoise, assumes_until_there_are_runs) {
  const LearnedNoise::Deviation nothing = LearnedNoise().of("layers/a");
  EXPECT_DOUBLE_EQ(nothing.relative, LearnedNoise::kAssumed);
  EXPECT_FALSE(nothing.learned);
  const LearnedNoise two(runs_of(2, 5, 0.01, 0.01, 1));
  EXPECT_FALSE(two.of("models/m0|1|f32/end_to_end").learned);
}

// Over a grid of true deviations the estimate lies within a third of the truth in the median.
TEST(LearnedNoise, finds_the_deviation_between_runs_over_a_grid) {
  for (const double truth : {0.0, 0.01, 0.03, 0.06}) {
    double sum = 0.0;
    constexpr int kDraws = 40;
    for (int draw = 0; draw < kDraws; ++draw) {
      const LearnedNoise noise(
          runs_of(20, 10, truth, 0.01, static_cast<std::uint64_t>(100 + draw)));
      const LearnedNoise::Deviation found = noise.of("models/m0|1|f32/end_to_end");
      EXPECT_TRUE(found.learned);
      sum += found.relative * found.relative;
    }
    const double mean = std::sqrt(sum / kDraws);
    EXPECT_GT(mean, 0.67 * truth) << truth;
    // Six of the degrees of freedom are those of the assumed deviation.
    EXPECT_LT(mean, 1.33 * truth + 0.8 * LearnedNoise::kAssumed) << truth;
  }
}

TEST(LearnedNoise, believes_less_noise_than_assumed_only_after_ten_runs) {
  const std::string series = "models/m0|1|f32/end_to_end";
  const double assumed = LearnedNoise().of(series).relative;
  EXPECT_GT(assumed, LearnedNoise().of("layers/a").relative) << "models wander more than layers";
  const LearnedNoise::Deviation few = LearnedNoise(runs_of(9, 10, 0.0, 0.002, 5)).of(series);
  EXPECT_DOUBLE_EQ(few.relative, assumed);
  EXPECT_FALSE(few.learned);
  const LearnedNoise::Deviation many = LearnedNoise(runs_of(12, 10, 0.0, 0.002, 5)).of(series);
  EXPECT_LT(many.relative, 0.6 * assumed);
  EXPECT_TRUE(many.learned);
  EXPECT_GT(LearnedNoise(runs_of(9, 10, 0.06, 0.002, 5)).of(series).relative, assumed)
      << "more noise is believed at once";
}

TEST(LearnedNoise, does_not_learn_a_regression_that_was_measured_twice) {
  std::vector<LearnedNoise::RunTimes> runs = runs_of(4, 10, 0.002, 0.002, 7);
  for (const std::size_t slow : {2U, 3U}) {
    for (auto& [id, logs] : runs[slow].logs) {
      for (double& log : logs) {
        log += 0.5;
      }
    }
  }
  const std::string series = "models/m0|1|f32/end_to_end";
  EXPECT_DOUBLE_EQ(LearnedNoise(runs).of(series).relative, LearnedNoise().of(series).relative);
}

TEST(LearnedNoise, sees_a_machine_that_wanders) {
  std::vector<LearnedNoise::RunTimes> runs = runs_of(20, 10, 0.0, 0.001, 6);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (auto& [id, logs] : runs[i].logs) {
      for (double& log : logs) {
        log += 0.08 * std::sin(0.5 * static_cast<double>(i));  // neighbours differ by 0.04 at most
      }
    }
  }
  EXPECT_GT(LearnedNoise(runs).of("models/m0|1|f32/end_to_end").relative, 0.03);
}

TEST(LearnedNoise, takes_a_step_in_the_history_for_one_difference_among_many) {
  std::vector<LearnedNoise::RunTimes> runs = runs_of(20, 10, 0.003, 0.003, 3);
  const double before = LearnedNoise(runs).of("models/m0|1|f32/end_to_end").relative;
  for (std::size_t i = 10; i < runs.size(); ++i) {
    for (auto& [id, logs] : runs[i].logs) {
      for (double& log : logs) {
        log += 0.3;
      }
    }
  }
  EXPECT_LT(LearnedNoise(runs).of("models/m0|1|f32/end_to_end").relative, before + 0.002);
}

TEST(LearnedNoise, of_a_model_alone_does_not_follow_from_it_among_other_shapes) {
  std::vector<LearnedNoise::RunTimes> runs = runs_of(12, 10, 0.002, 0.002, 8);
  const LearnedNoise alone(runs);
  const std::string first = "models/m0|1|f32/alternation/plain/first";
  const std::string steady = "models/m0|1|f32/alternation/plain/steady";
  EXPECT_DOUBLE_EQ(LearnedNoise().of(first).relative,
                   LearnedNoise().of("models/m0|1|f32/end_to_end").relative)
      << "as much is assumed";
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const double level = run % 2 == 0 ? 0.0 : 0.4;
    runs[run].logs[first] = {level, level + 0.1, level - 0.1};
    runs[run].logs[steady] = runs[run].logs.at("models/m0|1|f32/end_to_end");
  }
  const LearnedNoise both(runs);
  for (const char* const series : {"models/m0|1|f32/end_to_end", "models/m9|1|f32/end_to_end"}) {
    EXPECT_DOUBLE_EQ(both.of(series).relative, alone.of(series).relative) << series;
  }
  EXPECT_GT(both.of(first).relative, 0.1);
  EXPECT_LT(both.of(steady).relative, 0.02) << "cold times are of another kind";
}

TEST(LearnedNoise, is_written_and_read_back) {
  const LearnedNoise::RunTimes times = runs_of(1, 3, 0.01, 0.01, 4).front();
  EXPECT_EQ(run_times_from_json(to_json(times)).logs, times.logs);
  EXPECT_ANY_THROW(static_cast<void>(run_times_from_json("{}")));
  EXPECT_ANY_THROW(
      static_cast<void>(run_times_from_json(R"({"series":[{"id":"a","log_seconds":["x"]}]})")));
}

// A neighbour slows three runs of ten down: the median difference does not see it, the tail does.
TEST(LearnedNoise, sees_runs_that_a_neighbour_slowed_down) {
  const std::string series = "models/m0|1|f32/end_to_end";
  std::vector<LearnedNoise::RunTimes> runs = runs_of(10, 10, 0.002, 0.002, 5);
  const double quiet = LearnedNoise(runs).of(series).relative;
  for (const std::size_t slowed : {2U, 5U, 8U}) {
    for (double& log : runs[slowed].logs[series]) {
      log += 0.06;
    }
  }
  EXPECT_LT(quiet, 0.012);
  EXPECT_GT(LearnedNoise(runs).of(series).relative, 0.025);
}

TEST(LearnedNoise, takes_one_step_for_no_noise) {
  const std::string series = "models/m0|1|f32/end_to_end";
  std::vector<LearnedNoise::RunTimes> runs = runs_of(12, 10, 0.002, 0.002, 6);
  const double before = LearnedNoise(runs).of(series).relative;
  for (std::size_t run = 6; run < runs.size(); ++run) {
    for (double& log : runs[run].logs[series]) {
      log += 0.2;
    }
  }
  EXPECT_LT(LearnedNoise(runs).of(series).relative, before + 0.01);
}

}  // namespace
}  // namespace plumb::analysis
