// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::engine {
namespace {

TEST(HarnessOverhead, splits_sample_and_execution) {
  const LayerTiming::Overhead floor{Seconds(40e-9), Seconds(2e-9)};
  EXPECT_DOUBLE_EQ(floor.at(1).count(), 42e-9);
  EXPECT_DOUBLE_EQ(floor.at(20).count(), 4e-9);
  EXPECT_DOUBLE_EQ(floor.at(0).count(), 42e-9) << "no repetitions are one";
}

TEST(HarnessOverhead, a_clock_that_ticks_once_a_reading_is_all_sample) {
  double now = 0.0;
  const LayerTiming::Overhead floor = measure_floor([&] { return Seconds(now += 25e-9); });
  EXPECT_NEAR(floor.sample.count(), 25e-9, 1e-12);
  EXPECT_NEAR(floor.execution.count(), 0.0, 1e-14);
}

TEST(HarnessOverhead, is_small_on_the_real_clock) {
  const LayerTiming::Overhead floor = measure_floor(measure::steady_clock());
  EXPECT_GT(floor.at(1).count(), 0.0);
  EXPECT_LT(floor.at(1).count(), 100e-6);
}

}  // namespace
}  // namespace plumb::engine
