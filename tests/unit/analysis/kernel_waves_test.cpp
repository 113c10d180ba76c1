// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/analysis/limits/model_limits.hpp"

namespace plumb::analysis {
namespace {

/// The environment of an H100: 132 multiprocessors.
results::Environment hopper() {
  results::Environment environment;
  environment.facts = {{"gpu.architecture", "sm_90"}, {"gpu.multiprocessors", "132"}};
  return environment;
}

std::string kernel(int blocks, int threads, int registers, int shared_bytes) {
  return fmt::format(
      R"({{"name":"k","grid":[{},2,1],"block":[{},1,1],"registers":{},"shared_bytes":{}}})",
      blocks / 2,
      threads,
      registers,
      shared_bytes);
}

results::Attributes row(const std::string& kernels) {
  return {{"kernels", "[" + kernels + "]"}};
}

TEST(KernelWaves, are_blocks_by_what_all_multiprocessors_hold) {
  // 256 threads with 128 registers each: 8 warps of 4,096 registers, so two blocks of 65,536.
  EXPECT_DOUBLE_EQ(*count_waves(row(kernel(264, 256, 128, 0)), hopper()), 1.0);
  EXPECT_DOUBLE_EQ(*count_waves(row(kernel(330, 256, 128, 0)), hopper()), 1.25);
  // 100 KiB and one of the system's: two blocks in 228 KiB. Of 228 KiB, none.
  EXPECT_DOUBLE_EQ(*count_waves(row(kernel(132, 128, 32, 100 << 10)), hopper()), 0.5);
  EXPECT_FALSE(count_waves(row(kernel(132, 128, 32, 228 << 10)), hopper()));
  // 1,024 threads: two blocks of 2,048. 32 threads: 32 blocks at most.
  EXPECT_DOUBLE_EQ(*count_waves(row(kernel(528, 1024, 32, 0)), hopper()), 2.0);
  EXPECT_DOUBLE_EQ(*count_waves(row(kernel(4224, 32, 16, 0)), hopper()), 1.0);
}

TEST(KernelWaves, are_of_the_kernel_with_the_most_threads) {
  const std::string kernels = kernel(2, 1024, 16, 0) + "," + kernel(330, 256, 128, 0);
  EXPECT_DOUBLE_EQ(*count_waves(row(kernels), hopper()), 1.25);
}

TEST(KernelWaves, are_those_of_the_library_where_it_tells_them) {
  results::Attributes attributes = row(kernel(264, 256, 128, 0));
  attributes["waves"] = "0.75";
  EXPECT_DOUBLE_EQ(*count_waves(attributes, {}), 0.75);
}

TEST(KernelWaves, are_absent_where_something_is_not_known) {
  EXPECT_FALSE(count_waves({}, hopper()));
  EXPECT_FALSE(count_waves(row(kernel(264, 256, 128, 0)), {}));
  results::Environment later = hopper();
  later.facts["gpu.architecture"] = "sm_999";
  EXPECT_FALSE(count_waves(row(kernel(264, 256, 128, 0)), later));
  for (const char* const kernels : {"",
                                    "1",
                                    R"({"grid":[1,1,1]})",
                                    R"({"grid":"x","block":[1],"registers":1})",
                                    "[[]",
                                    "null"}) {
    EXPECT_FALSE(count_waves(row(kernels), hopper())) << kernels;
  }
}

}  // namespace
}  // namespace plumb::analysis
