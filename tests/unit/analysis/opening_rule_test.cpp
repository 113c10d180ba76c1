// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/analysis/history/series_history.hpp"
#include "tests/support/growing_history.hpp"
#include "tests/support/series_family.hpp"

namespace plumb::analysis {
namespace {

constexpr std::size_t kNights = 100;

stats::ChangePoint change(std::size_t index, double step, double false_changes) {
  return {.index = index, .before = 1.0, .after = 1.0 + step, .confidence = 1.0 - false_changes};
}

bool shown(const stats::ChangePoint& point, std::size_t runs) {
  return shows_clearly({&point, 1}, point, runs, {});
}

TEST(OpeningRule, wants_more_evidence_the_more_runs_were_looked_at) {
  for (const std::size_t runs : {60U, 100U, 1000U}) {
    const auto looks = static_cast<double>(runs);
    EXPECT_TRUE(shown(change(runs - 10, 0.1, 0.0099 / looks), runs)) << runs;
    EXPECT_FALSE(shown(change(runs - 10, 0.1, 0.0101 / looks), runs)) << runs;
  }
}

TEST(OpeningRule, wants_levels_that_stand_the_longer_the_smaller_the_step) {
  for (const auto& [step, runs] :
       {std::pair{0.01, 60U}, {0.04, 60U}, {0.05, 48U}, {0.1, 24U}, {0.2, 12U}, {1.0, 3U}}) {
    EXPECT_TRUE(shown(change(runs / 2, 1.001 * step, 0.0), runs)) << step;
    EXPECT_FALSE(shown(change(runs / 2, step, 0.0), runs - 1)) << step;
  }
}

TEST(OpeningRule, counts_changes_before_it_that_nobody_explained) {
  const std::vector<stats::ChangePoint> points{
      change(20, 0.05, 0.0), change(40, 0.05, 0.0), change(52, 0.05, 0.0), change(56, 0.05, 0.0)};
  EXPECT_TRUE(shows_clearly(points, points[0], 60, {})) << "later ones take nothing away";
  EXPECT_FALSE(shows_clearly(points, points[2], 60, {}));
  const std::vector<std::size_t> explained{18, 41};
  EXPECT_TRUE(shows_clearly(points, points[2], 60, explained));
  EXPECT_FALSE(shows_clearly(points, points[2], 60, {explained.data(), 1}));
  EXPECT_TRUE(shows_clearly(points, points[3], 300, {})) << "what is long ago does not count";
}

/// Returns a history of nights with 2 % noise and a step.
std::vector<double> nights(SeriesFamily& source, std::size_t step_at, double step) {
  std::vector<double> values = with_steps(source.draw(kNights), {}, StepPattern::kUp, 0.0);
  for (std::size_t i = step_at; i < values.size(); ++i) {
    values[i] *= 1.0 + step;
  }
  return values;
}

TEST(OpeningRule, a_hundred_quiet_nights_open_nothing) {
  constexpr int kSeries = 40;
  for (const NoiseFamily family : kNoiseFamilies) {
    SeriesFamily source(family, 101);
    int opened = 0;
    for (int i = 0; i < kSeries; ++i) {
      opened += first_open_night(nights(source, kNights, 0.0), 9) ? 1 : 0;
    }
    EXPECT_EQ(opened, 0) << kNoiseFamilyNames.at(static_cast<std::size_t>(family));
  }
}

TEST(OpeningRule, clear_steps_open_within_nights) {
  constexpr int kSeries = 40;
  constexpr std::size_t kAt = 60;
  for (const auto& [step, within, share] :
       {std::tuple{0.2, 8U, 0.95}, {0.1, 9U, 0.9}, {0.05, 20U, 0.85}}) {
    for (const NoiseFamily family :
         {NoiseFamily::kGaussian, NoiseFamily::kOutliers, NoiseFamily::kSkewed}) {
      SeriesFamily source(family, 103);
      int opened = 0;
      for (int i = 0; i < kSeries; ++i) {
        const auto night = first_open_night(nights(source, kAt, step), kAt, kAt);
        opened += night && *night < kAt + within ? 1 : 0;
      }
      EXPECT_GE(opened, share * kSeries)
          << kNoiseFamilyNames.at(static_cast<std::size_t>(family)) << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace plumb::analysis
