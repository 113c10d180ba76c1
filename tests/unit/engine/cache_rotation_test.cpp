// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runners/engine/bench/layer_timing.hpp"

namespace plumb::engine {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

LayerTiming::Rotation::Costs costs_of(std::int64_t slot_bytes) {
  LayerTiming::Rotation::Costs costs;
  costs.slot = Bytes{slot_bytes};
  costs.cache = Bytes{100 * kMiB};
  costs.memory = Bytes{1024 * kMiB};
  costs.bind = Seconds(static_cast<double>(slot_bytes) / 1e9);
  costs.flush = Seconds(0.02);
  costs.execution = Seconds(1e-4);
  costs.wall = Seconds(0.2);
  return costs;
}

TEST(CacheRotation, small_weights_are_flushed_once_for_many_slots) {
  const LayerTiming::Rotation rotation = plan_rotation(costs_of(4096));
  EXPECT_TRUE(rotation.flush);
  EXPECT_EQ(rotation.slots, 31U);
  EXPECT_EQ(rotation.samples, 31U);
}

TEST(CacheRotation, large_weights_make_a_ring_of_twice_the_cache) {
  // 64 MiB bind in 67 ms: three more of them are cheaper than seven flushes with their own bind.
  LayerTiming::Rotation::Costs costs = costs_of(64 * kMiB);
  costs.flush = Seconds(0.1);
  const LayerTiming::Rotation rotation = plan_rotation(costs);
  EXPECT_FALSE(rotation.flush);
  EXPECT_EQ(rotation.slots, 4U) << "4 · 64 MiB ≥ 200 MiB";
}

TEST(CacheRotation, weights_beyond_twice_the_cache_evict_themselves) {
  const LayerTiming::Rotation rotation = plan_rotation(costs_of(411 * kMiB));
  EXPECT_FALSE(rotation.flush);
  EXPECT_EQ(rotation.slots, 1U);
  EXPECT_EQ(rotation.samples, 31U);
}

TEST(CacheRotation, fewer_samples_where_the_wall_is_near) {
  // 32 MiB bind in 34 ms. 31 and 15 samples do not fit into 0.2 s, neither by a ring of seven slots
  // (six more to bind, 201 ms) nor by flushes; 11 do: three slots (101 ms) and four flushes (80
  // ms).
  EXPECT_EQ(plan_rotation(costs_of(32 * kMiB)), (LayerTiming::Rotation{3, true, 11}));
}

TEST(CacheRotation, at_least_seven_samples_whatever_they_cost) {
  LayerTiming::Rotation::Costs costs = costs_of(kMiB);
  costs.execution = Seconds(10.0);
  EXPECT_EQ(plan_rotation(costs).samples, 7U);
}

TEST(CacheRotation, memory_bounds_the_slots) {
  LayerTiming::Rotation::Costs costs = costs_of(30 * kMiB);
  costs.memory = Bytes{60 * kMiB};
  const LayerTiming::Rotation rotation = plan_rotation(costs);
  EXPECT_TRUE(rotation.flush) << "a ring would need seven slots";
  EXPECT_LE(rotation.slots, 2U);
}

TEST(CacheRotation, nothing_to_rotate_and_no_memory_still_give_a_plan) {
  LayerTiming::Rotation::Costs costs = costs_of(0);
  EXPECT_GE(plan_rotation(costs).slots, 1U);
  costs = costs_of(kMiB);
  costs.memory = Bytes{0};
  EXPECT_EQ(plan_rotation(costs).slots, 1U);
}

TEST(CacheRotation, a_ring_never_has_more_than_1024_slots) {
  LayerTiming::Rotation::Costs costs = costs_of(1024);
  costs.bind = Seconds(0.0);
  costs.cache = Bytes{kMiB};
  EXPECT_TRUE(plan_rotation(costs).flush) << "2,048 slots of 1 KiB would be needed";
  costs.slot = Bytes{2048};
  EXPECT_EQ(plan_rotation(costs), (LayerTiming::Rotation{1024, false, 31}));
}

TEST(CacheFlush, knows_what_a_run_costs) {
  LayerTiming::CacheFlush flush(Bytes{kMiB});
  EXPECT_GT(flush.cost().count(), 0.0);
  EXPECT_LT(flush.cost().count(), 1.0);
  flush.run();
}

}  // namespace
}  // namespace plumb::engine
