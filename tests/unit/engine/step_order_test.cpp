// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "runners/engine/exec/schedule.hpp"

namespace plumb::engine {
namespace {

TEST(StepOrder, follows_needs_of_needs_and_nothing_else) {
  // 0 → 1 → 3, 0 → 2 → 3, and 4 needs 2 though it has the smaller number of the two that 5 needs.
  const MemoryPlan::Order order({{}, {0}, {0}, {1, 2}, {2}, {4, 3}});
  EXPECT_TRUE(order.before(0, 3));
  EXPECT_TRUE(order.before(2, 5));
  EXPECT_TRUE(order.before(1, 5));
  EXPECT_FALSE(order.before(1, 2));
  EXPECT_FALSE(order.before(2, 1));
  EXPECT_FALSE(order.before(1, 4));
  EXPECT_FALSE(order.before(3, 0));
  EXPECT_FALSE(order.before(3, 3));
}

TEST(StepOrder, takes_steps_that_need_later_ones) {
  const MemoryPlan::Order order({{2}, {}, {1}});
  EXPECT_TRUE(order.before(1, 0));
  EXPECT_FALSE(order.before(0, 2));
}

TEST(StepOrder, reaches_beyond_one_word_of_bits) {
  StepNeeds chain(200);
  for (std::size_t step = 1; step < chain.size(); ++step) {
    chain[step] = {step - 1};
  }
  const MemoryPlan::Order order(chain);
  EXPECT_TRUE(order.before(0, 199));
  EXPECT_TRUE(order.before(64, 65));
  EXPECT_FALSE(order.before(65, 64));
}

TEST(StepOrder, refuses_a_circle) {
  EXPECT_THROW(MemoryPlan::Order({{1}, {0}}), Error);
}

}  // namespace
}  // namespace plumb::engine
