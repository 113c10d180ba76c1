// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/engine/plan/execution_plan.hpp"

namespace plumb::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(StepBuffers, need_the_writer_of_what_they_use_and_the_readers_of_what_they_change) {
  const std::vector<PlanBuffer::Uses> steps{{{0}, {1}},     // makes 1 of the input
                                            {{1}, {2}},     // reads it
                                            {{1}, {3}},     // likewise
                                            {{0, 3}, {1}},  // takes its place
                                            {{1, 2}, {2}},  // changes what it reads
                                            {{2}, {4}}};
  EXPECT_THAT(step_needs(steps),
              ElementsAre(IsEmpty(),
                          ElementsAre(0U),
                          ElementsAre(0U),
                          ElementsAre(0U, 1U, 2U),
                          ElementsAre(1U, 3U),
                          ElementsAre(4U)));
}

TEST(StepBuffers, are_listed_with_each_user_once) {
  const std::vector<PlanBuffer::Uses> steps{{{0}, {1}}, {{1, 1}, {1, 2}}};
  EXPECT_THAT(
      buffer_users(steps),
      ElementsAre(
          Pair(0U, ElementsAre(0U)), Pair(1U, ElementsAre(0U, 1U)), Pair(2U, ElementsAre(1U))));
}

TEST(StepBuffers, are_numbered_as_in_the_larger_plan) {
  const PlanBuffer::Uses mapped_buffers = mapped({{0, 2}, {1}}, {7, 5, 3});
  EXPECT_THAT(mapped_buffers.reads, ElementsAre(7U, 3U));
  EXPECT_THAT(mapped_buffers.writes, ElementsAre(5U));
}

}  // namespace
}  // namespace plumb::engine
