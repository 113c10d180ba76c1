// SPDX-License-Identifier: Apache-2.0
#include "harness/results/measurement.hpp"

#include <gtest/gtest.h>

namespace plumb::results {
namespace {

TEST(Measurement, corrected_subtracts_the_floor_from_every_time) {
  Measurement row;
  row.summary = {.n = 9,
                 .median = Seconds(10e-6),
                 .interval = {Seconds(9e-6), Seconds(12e-6)},
                 .min = Seconds(8e-6),
                 .p90 = Seconds(15e-6),
                 .mean = Seconds(11e-6),
                 .min_has_company = true};
  row.floor = Seconds(2e-6);
  const measure::SampleSummary corrected = row.corrected();
  EXPECT_DOUBLE_EQ(corrected.median.count(), 8e-6);
  EXPECT_DOUBLE_EQ(corrected.interval.low.count(), 7e-6);
  EXPECT_DOUBLE_EQ(corrected.interval.high.count(), 10e-6);
  EXPECT_DOUBLE_EQ(corrected.min.count(), 6e-6);
  EXPECT_DOUBLE_EQ(corrected.p90.count(), 13e-6);
  EXPECT_DOUBLE_EQ(corrected.mean.count(), 9e-6);
  EXPECT_EQ(corrected.n, 9U);
  EXPECT_TRUE(corrected.min_has_company);
}

TEST(Measurement, corrected_never_goes_below_zero) {
  Measurement row;
  row.summary.median = Seconds(1e-6);
  row.floor = Seconds(3e-6);
  EXPECT_EQ(row.corrected().median.count(), 0.0);
  EXPECT_EQ(row.corrected().interval.high.count(), 0.0);
}

TEST(Measurement, cache_modes_and_purposes_read_back) {
  for (const CacheMode mode : {CacheMode::kNone, CacheMode::kWeights, CacheMode::kAll}) {
    EXPECT_EQ(parse_cache_mode(to_text(mode)), mode);
  }
  for (const Purpose purpose : {Purpose::kRace, Purpose::kFull, Purpose::kConfirm}) {
    EXPECT_EQ(parse_purpose(to_text(purpose)), purpose);
  }
  EXPECT_EQ(to_text(CacheMode::kWeights), "weights");
  EXPECT_EQ(to_text(Purpose::kConfirm), "confirm");
  EXPECT_EQ(parse_cache_mode("hot"), std::nullopt);
  EXPECT_EQ(parse_purpose("Full"), std::nullopt);
}

}  // namespace
}  // namespace plumb::results
