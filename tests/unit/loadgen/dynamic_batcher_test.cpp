// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>

#include "harness/base/error.hpp"
#include "harness/loadgen/batching.hpp"
#include "harness/loadgen/load_generator.hpp"

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Sleeps in place of computing, and notes what it was given.
class SleepingExecutor final : public BatchExecutor {
 public:
  explicit SleepingExecutor(std::vector<std::size_t> buckets, std::chrono::nanoseconds time = 0ns)
      : buckets_(std::move(buckets)), time_(time) {}

  [[nodiscard]] std::string describe() const override { return "sleeper"; }
  [[nodiscard]] std::vector<std::size_t> buckets() const override { return buckets_; }
  void execute(const BatchExecutor::Batch& batch,
               std::span<Completions::Response> responses) override {
    const int now = ++running_;
    {
      const std::scoped_lock lock(mutex_);
      most_running = std::max(most_running, now);
      EXPECT_TRUE(busy_lanes_.insert(batch.lane).second) << "two batches in lane " << batch.lane;
      EXPECT_LE(batch.samples.size(), batch.bucket);
      EXPECT_EQ(batch.samples.size(), responses.size());
      sizes.push_back(batch.samples.size());
      bucket_of.push_back(batch.bucket);
    }
    std::this_thread::sleep_for(time_);
    {
      const std::scoped_lock lock(mutex_);
      busy_lanes_.erase(batch.lane);
    }
    --running_;
    if (fail_at != 0 && static_cast<int>(sizes.size()) == fail_at) {
      throw std::runtime_error("the device went away");
    }
  }

  int most_running = 0;
  int fail_at = 0;
  std::vector<std::size_t> sizes;
  std::vector<std::size_t> bucket_of;

 private:
  std::vector<std::size_t> buckets_;
  std::chrono::nanoseconds time_;
  std::atomic<int> running_{0};
  std::mutex mutex_;
  std::set<std::size_t> busy_lanes_;
};

RequestedLoad offline(std::uint64_t samples) {
  RequestedLoad load;
  load.scenario = RequestedLoad::Scenario::kOffline;
  load.minimum_duration = Seconds(0.0);
  load.samples_per_query = samples;
  return load;
}

TEST(DynamicBatcher, offline_fills_batches_and_flushes_the_rest) {
  const auto clock = make_steady_load_clock();
  SleepingExecutor executor({1, 4, 8});
  DynamicBatcher batcher(executor, {8, std::chrono::hours(1), 1}, *clock);
  const LoadResult result = run_load(resolve_load(offline(803)), batcher, *clock);
  EXPECT_TRUE(result.valid()) << result.shortfalls.front().text;
  EXPECT_EQ(result.samples_completed, 803U);
  EXPECT_EQ(std::count(executor.sizes.begin(), executor.sizes.end(), 8U), 100);
  EXPECT_EQ(executor.sizes.back(), 3U);
  EXPECT_EQ(executor.bucket_of.back(), 4U);
  const auto uses = batcher.uses();
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(uses[2].batches, 100U);
  EXPECT_EQ(uses[1].samples, 3U);
  EXPECT_THAT(result.system, HasSubstr("sleeper, batches of up to 8"));
}

TEST(DynamicBatcher, a_lonely_sample_waits_for_the_timeout) {
  const auto clock = make_steady_load_clock();
  SleepingExecutor executor({8});
  DynamicBatcher batcher(executor, {8, 5ms, 2}, *clock);
  RequestedLoad load;
  load.minimum_duration = Seconds(0.0);
  load.minimum_queries = 64;
  const LoadResult result = run_load(resolve_load(load), batcher, *clock);
  EXPECT_TRUE(result.valid()) << result.shortfalls.front().text;
  EXPECT_GE(result.sample_latency.min, 5ms);
  EXPECT_LT(result.sample_latency.min, 500ms);
}

TEST(DynamicBatcher, keeps_several_batches_in_flight) {
  const auto clock = make_steady_load_clock();
  SleepingExecutor executor({4}, 5ms);
  DynamicBatcher batcher(executor, {4, 0ms, 3}, *clock);
  const LoadResult result = run_load(resolve_load(offline(400)), batcher, *clock);
  EXPECT_EQ(result.samples_completed, 400U);
  EXPECT_EQ(executor.most_running, 3);
}

TEST(DynamicBatcher, server_gets_every_answer) {
  const auto clock = make_steady_load_clock();
  SleepingExecutor executor({1, 2, 4, 8, 16}, 100us);
  DynamicBatcher batcher(executor, {16, 1ms, 2}, *clock);
  RequestedLoad load;
  load.scenario = RequestedLoad::Scenario::kServer;
  load.target_rate = 20'000.0;
  load.latency_limit = Seconds(30.0);
  load.fixed_duration = Seconds(0.3);
  load.warm_up = Seconds(0.05);
  const LoadResult result = run_load(resolve_load(load), batcher, *clock);
  EXPECT_TRUE(result.valid()) << result.shortfalls.front().text;
  EXPECT_EQ(result.samples_completed, result.samples_issued);
}

TEST(DynamicBatcher, an_executor_that_throws_fails_its_samples_only) {
  const auto clock = make_steady_load_clock();
  SleepingExecutor executor({4});
  executor.fail_at = 3;
  DynamicBatcher batcher(executor, {4, 0ms, 1}, *clock);
  const LoadResult result = run_load(resolve_load(offline(40)), batcher, *clock);
  EXPECT_EQ(result.samples_failed, 4U);
  EXPECT_EQ(result.samples_completed, 36U);
  EXPECT_EQ(result.first_failure, "the device went away");
  EXPECT_FALSE(result.valid());
}

TEST(DynamicBatcher, refuses_what_cannot_hold_a_batch) {
  const auto clock = make_steady_load_clock();
  SleepingExecutor small({1, 4});
  SleepingExecutor unordered({8, 4, 8});
  SleepingExecutor none({});
  EXPECT_THROW(DynamicBatcher(small, {8, 0ms, 1}, *clock), Error);
  EXPECT_THROW(DynamicBatcher(unordered, {8, 0ms, 1}, *clock), Error);
  EXPECT_THROW(DynamicBatcher(none, {1, 0ms, 1}, *clock), Error);
  EXPECT_THROW(DynamicBatcher(small, {0, 0ms, 1}, *clock), Error);
  EXPECT_THROW(DynamicBatcher(small, {4, 0ms, 0}, *clock), Error);
}

}  // namespace
}  // namespace plumb::loadgen
