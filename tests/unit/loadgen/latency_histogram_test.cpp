// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "harness/loadgen/completion_recorder.hpp"

namespace plumb::loadgen {
namespace {

using std::chrono::nanoseconds;

TEST(LatencyHistogram, is_exact_below_2048_ns) {
  CompletionRecorder::Histogram histogram;
  for (std::int64_t i = 2047; i >= 0; --i) {
    histogram.record(nanoseconds(i));
  }
  for (std::uint64_t rank = 0; rank < 2048; ++rank) {
    ASSERT_EQ(histogram.at_rank(rank).count(), static_cast<std::int64_t>(rank));
  }
}

TEST(LatencyHistogram, every_rank_is_within_a_thousandth_above_the_sorted_value) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(14.0, 3.0);
  std::vector<std::int64_t> values;
  CompletionRecorder::Histogram histogram;
  for (int i = 0; i < 5'000; ++i) {
    values.push_back(static_cast<std::int64_t>(latency(random)));
    histogram.record(nanoseconds(values.back()));
  }
  std::sort(values.begin(), values.end());
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    const std::int64_t read = histogram.at_rank(rank).count();
    ASSERT_GE(read, values[rank]);
    ASSERT_LE(static_cast<double>(read - values[rank]), static_cast<double>(values[rank]) / 1024.0);
  }
}

TEST(LatencyHistogram, percentile_takes_mlperfs_rank) {
  CompletionRecorder::Histogram histogram;
  for (std::int64_t i = 0; i < 1000; ++i) {
    histogram.record(nanoseconds(i));
  }
  EXPECT_EQ(histogram.percentile(50.0).count(), 500);
  EXPECT_EQ(histogram.percentile(90.0).count(), 900);
  EXPECT_EQ(histogram.percentile(99.9).count(), 999);
}

TEST(LatencyHistogram, keeps_count_extremes_and_mean_exactly) {
  CompletionRecorder::Histogram histogram;
  histogram.record(nanoseconds(1'000'003));
  histogram.record(nanoseconds(5'000'000'001));
  histogram.record(nanoseconds(-4));
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.min().count(), 0);
  EXPECT_EQ(histogram.max().count(), 5'000'000'001);
  EXPECT_EQ(histogram.mean().count(), (1'000'003 + 5'000'000'001) / 3);
}

TEST(LatencyHistogram, holds_the_longest_time_there_is) {
  CompletionRecorder::Histogram histogram;
  histogram.record(nanoseconds::max());
  histogram.record(nanoseconds::max());
  EXPECT_EQ(histogram.at_rank(0), nanoseconds::max());
}

TEST(LatencyHistogram, neighbours_of_every_octave_stay_in_order) {
  for (int bit = 1; bit < 62; ++bit) {
    CompletionRecorder::Histogram histogram;
    const std::int64_t edge = std::int64_t{1} << bit;
    histogram.record(nanoseconds(edge - 1));
    histogram.record(nanoseconds(edge));
    histogram.record(nanoseconds(2 * edge));
    EXPECT_EQ(histogram.at_rank(0).count(), edge - 1) << bit;
    EXPECT_GE(histogram.at_rank(1).count(), edge) << bit;
    EXPECT_LE(histogram.at_rank(1).count(), edge + edge / 1024) << bit;
  }
}

TEST(LatencyHistogram, empty_one_reads_zero) {
  const CompletionRecorder::Histogram histogram;
  EXPECT_EQ(histogram.percentile(99.0).count(), 0);
  EXPECT_EQ(histogram.mean().count(), 0);
  EXPECT_EQ(histogram.min().count(), 0);
}

}  // namespace
}  // namespace plumb::loadgen
