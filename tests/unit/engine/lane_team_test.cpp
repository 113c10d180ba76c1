// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "runners/engine/exec/schedule.hpp"

namespace plumb::engine {
namespace {

TEST(LaneTeam, does_each_piece_once_in_every_lane_and_waits_for_all) {
  std::atomic<int> begun{0};
  BranchSchedule::Team team(3, [&](std::size_t lane) { begun += static_cast<int>(lane); });
  std::vector<int> pieces(3, 0);
  for (int piece = 1; piece <= 500; ++piece) {
    team.run([&](std::size_t lane) { ++pieces[lane]; });
    for (const int done : pieces) {
      ASSERT_EQ(done, piece);
    }
  }
  EXPECT_EQ(begun, 1 + 2);  // the caller is lane 0
}

TEST(LaneTeam, works_on_lanes_at_the_same_time) {
  BranchSchedule::Team team(2, [](std::size_t) {});
  std::atomic<int> arrived{0};
  team.run([&](std::size_t) {
    ++arrived;
    spin_until([&] { return arrived == 2; });  // for ever, one after the other
  });
  EXPECT_EQ(arrived, 2);
}

TEST(LaneTeam, wakes_up_after_a_pause) {
  BranchSchedule::Team team(2, [](std::size_t) {});
  std::atomic<int> done{0};
  team.run([&](std::size_t) { ++done; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  team.run([&](std::size_t) { ++done; });
  EXPECT_EQ(done, 4);
}

TEST(LaneTeam, of_one_is_the_caller) {
  BranchSchedule::Team team(1, [](std::size_t) {});
  std::thread::id worker;
  team.run([&](std::size_t) { worker = std::this_thread::get_id(); });
  EXPECT_EQ(worker, std::this_thread::get_id());
}

}  // namespace
}  // namespace plumb::engine
