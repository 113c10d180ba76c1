// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/benchmark_block.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace plumb {
namespace {

Samples two_samples() {
  Samples samples;
  samples.seconds = {Seconds(1.0), Seconds(2.0)};
  samples.elapsed = Seconds(3.0);
  return samples;
}

TEST(BenchmarkBlock, runs_the_block_once_and_returns_its_samples) {
  int runs = 0;
  const auto samples = run_as_benchmark("v1:conv;in=f32[1,3]/impl=x/none/full", "", [&] {
    ++runs;
    return two_samples();
  });
  EXPECT_EQ(runs, 1);
  ASSERT_TRUE(samples.has_value());
  EXPECT_EQ(samples->seconds.size(), 2U);
}

TEST(BenchmarkBlock, the_filter_is_a_regular_expression_over_the_name) {
  EXPECT_TRUE(run_as_benchmark("a/jit:avx2/none/full", "avx2/none", two_samples).has_value());
  EXPECT_FALSE(run_as_benchmark("a/jit:avx2/none/full", "^b", two_samples).has_value());
  EXPECT_FALSE(run_as_benchmark("a/jit:avx2/none/full", "-avx2", two_samples).has_value())
      << "- excludes";
}

TEST(BenchmarkBlock, carries_exceptions_around_the_library_and_works_on) {
  const auto throwing = []() -> Samples { throw std::runtime_error("broken"); };
  EXPECT_THROW(static_cast<void>(run_as_benchmark("a", "", throwing)), std::runtime_error);
  EXPECT_TRUE(run_as_benchmark("b", "", two_samples).has_value());
}

}  // namespace
}  // namespace plumb
