// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

#include "harness/measure/processor.hpp"

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

/// Returns the best of a few results with two threads. Other work only lowers them.
double best_of_two_threads() {
  double best = 0.0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    best = std::max(best, measure_parallel_efficiency(2, Seconds(0.01)));
  }
  return best;
}

TEST(ParallelEfficiency, does_not_depend_on_where_the_calling_thread_is_bound) {
  const double free = best_of_two_threads();
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  double bound = 0.0;
  for (int attempt = 0; attempt < 100 && bound < 0.8 * free; ++attempt) {
    bound = std::max(bound, best_of_two_threads());
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(bound, 0.8 * free);
}

}  // namespace
}  // namespace plumb::measure
