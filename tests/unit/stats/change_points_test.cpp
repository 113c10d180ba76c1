// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/change_points.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "harness/base/error.hpp"
#include "tests/support/noise_series.hpp"

namespace plumb::stats {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kSeries = 1000;

bool near(std::size_t found, std::size_t step) {
  return found + 5 >= step && found <= step + 5;
}

double false_per_1000(Noise noise, std::size_t length) {
  NoiseSeries source(1 + length);
  std::size_t found = 0;
  for (int i = 0; i < kSeries; ++i) {
    found += detect_changes(source.make(noise, length)).change_points.size();
  }
  return static_cast<double>(found) * 1000.0 / kSeries;
}

double recall(Noise noise, std::size_t length, double sigmas) {
  NoiseSeries source(7 + length);
  int hits = 0;
  for (int i = 0; i < kSeries; ++i) {
    for (const ChangePoint& point :
         detect_changes(source.make(noise, length, sigmas, length / 2)).change_points) {
      if (near(point.index, length / 2)) {
        ++hits;
        break;
      }
    }
  }
  return static_cast<double>(hits) / kSeries;
}

TEST(ChangePoints, finds_a_clear_step_and_its_levels) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back((i < 25 ? 10.0 : 12.0) + 0.01 * (i * 7 % 5));
  }
  const Detection found = detect_changes(values);
  ASSERT_THAT(found.change_points, SizeIs(1));
  EXPECT_EQ(found.change_points[0].index, 25U);
  EXPECT_NEAR(found.change_points[0].before, 10.02, 1e-9);
  EXPECT_NEAR(found.change_points[0].after, 12.02, 1e-9);
  EXPECT_GT(found.change_points[0].confidence, 0.999);
  EXPECT_THAT(found.suspicions, IsEmpty());
}

TEST(ChangePoints, finds_several_steps_of_one_direction_and_back) {
  std::vector<double> values;
  for (const double level : {10.0, 11.0, 12.5, 10.0}) {
    for (int i = 0; i < 20; ++i) {
      values.push_back(level + 0.05 * (i * 7 % 5));
    }
  }
  const Detection found = detect_changes(values);
  ASSERT_THAT(found.change_points, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found.change_points[i].index, 20 * (i + 1));
  }
}

TEST(ChangePoints, short_constant_and_exact_series) {
  EXPECT_THAT(detect_changes({}).change_points, IsEmpty());
  EXPECT_THAT(detect_changes(std::vector<double>{1.0, 2.0, 3.0}).change_points, IsEmpty());
  EXPECT_THAT(detect_changes(std::vector<double>(100, 5.0)).change_points, IsEmpty());
  std::vector<double> exact(100, 5.0);
  std::fill(exact.begin() + 60, exact.end(), 6.0);
  ASSERT_THAT(detect_changes(exact).change_points, SizeIs(1));
  EXPECT_EQ(detect_changes(exact).change_points[0].index, 60U);
}

TEST(ChangePoints, one_spike_is_no_change) {
  NoiseSeries source(3);
  std::vector<double> values = source.make(Noise::kGaussian, 100);
  values[50] *= 3.0;
  EXPECT_THAT(detect_changes(values).change_points, IsEmpty());
}

TEST(ChangePoints, series_with_zero_and_negative_values_are_compared_as_they_are) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back((i < 20 ? -1.0 : 1.0) + 0.1 * (i * 7 % 5));
  }
  ASSERT_THAT(detect_changes(values).change_points, SizeIs(1));
  EXPECT_EQ(detect_changes(values).change_points[0].index, 20U);
}

TEST(ChangePoints, refuses_infinities) {
  const std::vector<double> values{1.0, std::numeric_limits<double>::infinity(), 2.0};
  try {
    static_cast<void>(detect_changes(values));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("value 1"));
  }
}

TEST(ChangePoints, missing_points_count_in_indices_only) {
  NoiseSeries source(5);
  std::vector<double> values = source.make(Noise::kGaussian, 100, 5.0, 50);
  const Detection whole = detect_changes(values);
  ASSERT_THAT(whole.change_points, SizeIs(1));
  for (const std::size_t gap : {3U, 20U, 21U, 22U, 49U, 80U}) {
    values[gap] = std::nan("");
  }
  const Detection found = detect_changes(values);
  ASSERT_THAT(found.change_points, SizeIs(1));
  EXPECT_EQ(found.change_points[0].index, 50U);
  EXPECT_THAT(detect_changes(std::vector<double>(50, std::nan(""))).change_points, IsEmpty());
}

TEST(ChangePoints, a_quiet_history_is_quiet) {
  for (const std::size_t length : {60U, 120U, 500U}) {
    EXPECT_LE(false_per_1000(Noise::kGaussian, length), 10.0) << length;
    EXPECT_LE(false_per_1000(Noise::kOutliers, length), 20.0) << length;
    EXPECT_LE(false_per_1000(Noise::kTwoStates, length), 50.0) << length;
  }
  // In 60 points an excursion of autocorrelated noise is hardly told from a step.
  EXPECT_LE(false_per_1000(Noise::kAutocorrelated, 60), 30.0);
  EXPECT_LE(false_per_1000(Noise::kAutocorrelated, 120), 20.0);
  EXPECT_LE(false_per_1000(Noise::kAutocorrelated, 500), 20.0);
}

TEST(ChangePoints, steps_are_found_within_five_points) {
  EXPECT_GE(recall(Noise::kGaussian, 500, 1.0), 0.75);
  EXPECT_GE(recall(Noise::kGaussian, 500, 2.5), 0.99);
  EXPECT_GE(recall(Noise::kGaussian, 120, 2.5), 0.99);
  EXPECT_GE(recall(Noise::kOutliers, 500, 2.5), 0.99);
}

TEST(ChangePoints, two_states_are_named) {
  NoiseSeries source(11);
  int named = 0;
  for (int i = 0; i < 100; ++i) {
    named += detect_changes(source.make(Noise::kTwoStates, 500)).two_states ? 1 : 0;
  }
  EXPECT_GE(named, 80);
}

TEST(ChangePoints, three_points_after_a_step_are_a_suspicion) {
  for (const Noise noise : {Noise::kGaussian, Noise::kAutocorrelated}) {
    NoiseSeries source(13);
    int found = 0;
    int quiet = 0;
    for (int i = 0; i < kSeries; ++i) {
      for (const Detection::Suspicion& suspicion :
           detect_changes(source.make(noise, 103, 2.5, 100)).suspicions) {
        found += suspicion.index >= 99 && suspicion.index <= 102 ? 1 : 0;
      }
      quiet += static_cast<int>(detect_changes(source.make(noise, 103)).suspicions.size());
    }
    EXPECT_GE(found, kSeries / 2);
    EXPECT_LE(quiet, kSeries / 50);
  }
}

TEST(ChangePoints, replayed_run_by_run_it_hardly_ever_alarms) {
  NoiseSeries source(17);
  std::size_t alarms = 0;
  std::size_t runs = 0;
  for (int series = 0; series < 60; ++series) {
    const std::vector<double> values = source.make(Noise::kGaussian, 300);
    std::vector<std::size_t> known;
    for (std::size_t length = 50; length <= values.size(); ++length, ++runs) {
      for (const ChangePoint& point :
           detect_changes(std::span(values.data(), length)).change_points) {
        const bool old = std::any_of(known.begin(), known.end(), [&](std::size_t index) {
          return near(point.index, index);
        });
        if (!old) {
          known.push_back(point.index);
          ++alarms;
        }
      }
    }
  }
  EXPECT_LE(static_cast<double>(alarms) * 1000.0, static_cast<double>(runs));
}

}  // namespace
}  // namespace plumb::stats
