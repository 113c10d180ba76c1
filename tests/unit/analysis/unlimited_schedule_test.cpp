// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "harness/analysis/coschedule/co_schedule.hpp"

namespace plumb::analysis {
namespace {

using Needs = std::vector<std::vector<std::size_t>>;

PartitionStep step_of(std::optional<double> seconds, bool critical) {
  PartitionStep step;
  step.critical = critical;
  if (seconds) {
    step.time.emplace();
    step.time->time.median = Seconds(*seconds);
  }
  return step;
}

TEST(UnlimitedSchedule, branches_lie_beside_the_critical_path) {
  // 0 forks into 1 (slow, critical) and 2, 3 (a chain) and 4 (beside both); 5 joins them.
  const std::vector<PartitionStep> steps{step_of(1.0, true),
                                         step_of(6.0, true),
                                         step_of(2.0, false),
                                         step_of(3.0, false),
                                         step_of(1.5, false),
                                         step_of(1.0, true)};
  const Needs needs{{}, {0}, {0}, {2}, {0}, {1, 3, 4}};
  const CoSchedule::Unlimited schedule = schedule_without_limits(steps, needs);
  const std::vector<double> begins{0.0, 1.0, 1.0, 3.0, 1.0, 7.0};
  // Step 4 starts with step 2 and ends first, so that it takes lane 1.
  const std::vector<std::size_t> lanes{0, 0, 2, 2, 1, 0};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(schedule.places[i].begin, Seconds(begins[i])) << i;
    EXPECT_EQ(schedule.places[i].lane, lanes[i]) << i;
  }
  EXPECT_EQ(schedule.total, Seconds(8.0));
  EXPECT_EQ(schedule.lanes, 3U);
  EXPECT_TRUE(schedule.timed);
}

TEST(UnlimitedSchedule, steps_without_a_time_take_none_unless_no_step_has_one) {
  const Needs chain{{}, {0}, {1}};
  const CoSchedule::Unlimited some = schedule_without_limits(
      std::vector{step_of(1.0, true), step_of(std::nullopt, true), step_of(2.0, true)}, chain);
  EXPECT_EQ(some.total, Seconds(3.0));
  EXPECT_EQ(some.places[1].begin, some.places[1].end);
  const std::vector<PartitionStep> untimed(3, step_of(std::nullopt, true));
  const CoSchedule::Unlimited none = schedule_without_limits(untimed, chain);
  EXPECT_FALSE(none.timed);
  EXPECT_EQ(none.total, Seconds(3.0)) << "each counts as one";
  EXPECT_EQ(schedule_without_limits({}, {}).lanes, 0U);
}

TEST(UnlimitedSchedule, no_lane_has_two_steps_at_once) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<PartitionStep> steps;
    Needs needs;
    const std::size_t count = 1 + random() % 40;
    for (std::size_t i = 0; i < count; ++i) {
      steps.push_back(step_of(static_cast<double>(1 + random() % 9), false));
      std::vector<std::size_t> before;
      for (std::size_t other = 0; other < i; ++other) {
        if (random() % 6 == 0) {
          before.push_back(other);
        }
      }
      needs.push_back(before);
    }
    const CoSchedule::Unlimited schedule = schedule_without_limits(steps, needs);
    Seconds last{};
    for (std::size_t i = 0; i < count; ++i) {
      const CoSchedule::Unlimited::Place& place = schedule.places[i];
      last = std::max(last, place.end);
      EXPECT_GT(place.lane, 0U) << "lane 0 is the critical path's";
      Seconds ready{};
      for (const std::size_t need : needs[i]) {
        ready = std::max(ready, schedule.places[need].end);
      }
      EXPECT_EQ(place.begin, ready);
      for (std::size_t other = 0; other < i; ++other) {
        const CoSchedule::Unlimited::Place& beside = schedule.places[other];
        EXPECT_TRUE(beside.lane != place.lane || beside.end <= place.begin ||
                    place.end <= beside.begin)
            << "steps " << other << " and " << i << " of trial " << trial;
      }
    }
    EXPECT_EQ(schedule.total, last);
  }
}

}  // namespace
}  // namespace plumb::analysis
