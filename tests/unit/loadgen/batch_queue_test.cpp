// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/loadgen/batching.hpp"

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::vector<SystemUnderTest::Sample> samples(std::uint64_t first, std::uint64_t count) {
  std::vector<SystemUnderTest::Sample> made;
  for (std::uint64_t i = 0; i < count; ++i) {
    made.push_back({first + i, 0});
  }
  return made;
}

std::vector<std::uint64_t> ids(const std::vector<SystemUnderTest::Sample>& batch) {
  std::vector<std::uint64_t> found;
  for (const SystemUnderTest::Sample& sample : batch) {
    found.push_back(sample.id);
  }
  return found;
}

TEST(BatchQueue, a_full_batch_is_ready_at_once) {
  DynamicBatcher::Queue queue({3, 10ms, 1});
  queue.push(samples(1, 2), 0ms);
  EXPECT_FALSE(queue.is_ready(0ms));
  queue.push(samples(3, 2), 1ms);
  EXPECT_TRUE(queue.is_ready(1ms));
  EXPECT_THAT(ids(queue.pop()), ElementsAre(1, 2, 3));
  EXPECT_FALSE(queue.is_ready(1ms));
}

TEST(BatchQueue, the_oldest_sample_waits_for_the_timeout_and_no_longer) {
  DynamicBatcher::Queue queue({4, 10ms, 1});
  EXPECT_EQ(queue.deadline(), std::nullopt);
  queue.push(samples(1, 1), 5ms);
  queue.push(samples(2, 1), 12ms);
  EXPECT_EQ(queue.deadline(), 15ms);
  EXPECT_FALSE(queue.is_ready(15ms - 1ns));
  EXPECT_TRUE(queue.is_ready(15ms));
  EXPECT_THAT(ids(queue.pop()), ElementsAre(1, 2));
  EXPECT_TRUE(queue.empty());
}

TEST(BatchQueue, what_a_full_batch_leaves_keeps_its_age) {
  DynamicBatcher::Queue queue({2, 10ms, 1});
  queue.push(samples(1, 3), 0ms);
  EXPECT_THAT(ids(queue.pop()), ElementsAre(1, 2));
  EXPECT_EQ(queue.deadline(), 10ms);
}

TEST(BatchQueue, flush_makes_due_what_waits_and_nothing_later) {
  DynamicBatcher::Queue queue({2, 10ms, 1});
  queue.push(samples(1, 3), 0ms);
  queue.flush();
  EXPECT_THAT(ids(queue.pop()), ElementsAre(1, 2));
  EXPECT_TRUE(queue.is_ready(0ms));
  EXPECT_THAT(ids(queue.pop()), ElementsAre(3));
  queue.push(samples(4, 1), 0ms);
  EXPECT_FALSE(queue.is_ready(0ms));
}

TEST(BatchQueue, no_timeout_batches_only_what_is_there) {
  DynamicBatcher::Queue queue({8, 0ms, 1});
  queue.push(samples(1, 2), 3ms);
  EXPECT_TRUE(queue.is_ready(3ms));
  EXPECT_THAT(ids(queue.pop()), ElementsAre(1, 2));
}

}  // namespace
}  // namespace plumb::loadgen
