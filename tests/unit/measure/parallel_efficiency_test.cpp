// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/parallel_efficiency.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace plumb::measure {
namespace {

TEST(ParallelEfficiency, one_thread_is_its_own_measure) {
  EXPECT_DOUBLE_EQ(measure_parallel_efficiency(1), 1.0);
  EXPECT_DOUBLE_EQ(measure_parallel_efficiency(0), 1.0);
  EXPECT_DOUBLE_EQ(measure_parallel_efficiency(-3), 1.0);
}

TEST(ParallelEfficiency, more_threads_than_cores_must_share_them) {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (cores > 16) {
    GTEST_SKIP() << "would start too many threads";
  }
  // Four threads a core can reach a quarter; the rest is what the scheduler rounds. A loaded host
  // slows the single thread down too, at times: then once more.
  double shared = 1.0;
  for (int attempt = 0; attempt < 20 && shared >= 0.6; ++attempt) {
    shared = measure_parallel_efficiency(4 * cores, Seconds(0.01));
    EXPECT_GT(shared, 0.0);
  }
  EXPECT_LT(shared, 0.6);
}

}  // namespace
}  // namespace plumb::measure
