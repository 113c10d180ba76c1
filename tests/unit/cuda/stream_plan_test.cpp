// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/event_clock.hpp"
#include "runners/cuda/model_program.hpp"

namespace plumb::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Steps = std::vector<engine::PlanBuffer::Uses>;

TEST(StreamPlan, keeps_a_chain_on_one_stream) {
  const ModelProgram::StreamPlan plan = plan_streams(Steps{{{0}, {1}}, {{1}, {2}}, {{2}, {3}}}, 4);
  EXPECT_THAT(plan.stream, ElementsAre(0, 0, 0));
  EXPECT_THAT(plan.waits, ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
  EXPECT_EQ(plan.streams, 1U);
}

TEST(StreamPlan, opens_a_stream_for_a_branch_and_waits_where_branches_join) {
  // 0 → 1; 1 → 2 and 1 → 3 beside it; 2 and 3 → 4.
  const ModelProgram::StreamPlan plan =
      plan_streams(Steps{{{0}, {1}}, {{1}, {2}}, {{1}, {3}}, {{2, 3}, {4}}}, 4);
  EXPECT_THAT(plan.stream, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(plan.waits, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), ElementsAre(1)));
  EXPECT_EQ(plan.streams, 2U);
}

TEST(StreamPlan, stays_within_the_streams_there_are) {
  const ModelProgram::StreamPlan plan =
      plan_streams(Steps{{{0}, {1}}, {{0}, {2}}, {{0}, {3}}, {{0}, {4}}}, 2);
  EXPECT_THAT(plan.stream, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(plan.streams, 2U);
}

TEST(StreamPlan, orders_who_writes_what_others_read) {
  // 1 is read by the second step and written again by the third.
  const ModelProgram::StreamPlan plan = plan_streams(Steps{{{0}, {1}}, {{1}, {2}}, {{0}, {1}}}, 4);
  EXPECT_THAT(plan.stream, ElementsAre(0, 0, 0));
  const ModelProgram::StreamPlan apart =
      plan_streams(Steps{{{0}, {1}}, {{1}, {2}}, {{1}, {3}}, {{0}, {1}}}, 4);
  EXPECT_THAT(apart.waits[3], ElementsAre(0, 1));
}

TEST(StreamPlan, orders_branches_that_share_only_a_second_output) {
  // The first step writes 1 and 2: one branch reads 1, the other 2, and writes 2 again.
  const ModelProgram::StreamPlan plan =
      plan_streams(Steps{{{0}, {1, 2}}, {{1}, {3}}, {{2}, {4}}, {{5}, {2}}}, 4);
  EXPECT_THAT(plan.stream, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(plan.waits, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), ElementsAre(0)));
}

TEST(StreamPlan, does_not_order_a_step_after_itself) {
  const ModelProgram::StreamPlan plan =
      plan_streams(Steps{{{0}, {1}}, {{1, 0}, {1}}, {{1}, {1, 2}}}, 4);
  EXPECT_EQ(plan.streams, 1U);
  EXPECT_THAT(plan.waits, ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
}

TEST(ReplayClock, takes_as_many_executions_as_last_long_enough) {
  const Seconds wanted{1e-3};
  EXPECT_EQ(executions_for(Seconds(10e-6), wanted, 1, 4096), 100U);
  EXPECT_EQ(executions_for(Seconds(10e-6), wanted, 7, 4096), 105U);  // whole turns
  EXPECT_EQ(executions_for(Seconds(5e-3), wanted, 1, 4096), 1U);
  EXPECT_EQ(executions_for(Seconds(5e-3), wanted, 3, 4096), 3U);
  EXPECT_EQ(executions_for(Seconds(1e-9), wanted, 1, 4096), 4096U);
  EXPECT_EQ(executions_for(Seconds(0.0), wanted, 1000, 100), 1000U);
}

}  // namespace
}  // namespace plumb::cuda
