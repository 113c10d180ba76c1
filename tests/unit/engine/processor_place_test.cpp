// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <thread>

#include "runners/engine/exec/this_process.hpp"

namespace plumb::engine {
namespace {

std::set<int> usable_processors() {
  cpu_set_t usable;
  EXPECT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  std::set<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &usable)) {
      processors.insert(i);
    }
  }
  return processors;
}

TEST(ProcessorPlace, counts_round_over_the_processors_that_may_be_used) {
  const std::set<int> before = usable_processors();
  std::set<int> reached;
  for (std::uint32_t place = 0; place < 2 * before.size(); ++place) {
    std::thread([&] {
      ASSERT_TRUE(stay_on_processor(place));
      const std::set<int> now = usable_processors();
      ASSERT_EQ(now.size(), 1U);
      reached.insert(*now.begin());
    }).join();
  }
  EXPECT_EQ(reached, before);
  EXPECT_EQ(usable_processors(), before) << "other threads stay where they are";
}

#ifdef __x86_64__
/// Multiplies two numbers when the program runs.
float product_of(float left, float right) {
  const volatile float read = left;
  return read * right;
}

TEST(Denormals, are_zero_in_a_thread_and_in_those_that_it_starts) {
  constexpr float kDenormal = 1e-40F;
  std::thread([] {
    flush_denormals();
    std::thread([] {
      EXPECT_EQ(product_of(1e-30F, 1e-10F), 0.0F) << "a result";
      EXPECT_EQ(product_of(kDenormal, 1e10F), 0.0F) << "an operand";
      EXPECT_EQ(product_of(1e-30F, 1e10F), 1e-30F * 1e10F);
    }).join();
  }).join();
  EXPECT_NE(product_of(1e-30F, 1e-10F), 0.0F) << "other threads compute as before";
  EXPECT_NE(product_of(kDenormal, 1e10F), 0.0F);
}
#endif

}  // namespace
}  // namespace plumb::engine
