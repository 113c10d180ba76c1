// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/base/error.hpp"
#include "harness/loadgen/batching.hpp"
#include "harness/loadgen/load_generator.hpp"
#include "runners/fake/fake_script.hpp"

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

/// Takes a time for each bucket, and fails where it is told to.
class TimedExecutor final : public BatchExecutor {
 public:
  explicit TimedExecutor(fake::ScriptedSystem::Clock& clock) : clock_(clock) {}
  [[nodiscard]] std::string describe() const override { return "timed"; }
  [[nodiscard]] std::vector<std::size_t> buckets() const override { return {1, 4}; }
  void execute(const BatchExecutor::Batch& batch,
               std::span<Completions::Response> responses) override {
    EXPECT_EQ(responses.size(), batch.samples.size());
    sizes.push_back(batch.samples.size());
    clock_.spend(batch.bucket == 1 ? 1ms : 3ms);
    if (sizes.size() == fail_at) {
      throw std::runtime_error("element 3 of output 0 is not a finite number");
    }
  }

  std::vector<std::size_t> sizes;
  std::size_t fail_at = 0;

 private:
  fake::ScriptedSystem::Clock& clock_;
};

RequestedLoad of(RequestedLoad::Scenario scenario, Seconds duration) {
  RequestedLoad load;
  load.scenario = scenario;
  load.fixed_duration = duration;
  load.total_samples = 16;
  return load;
}

TEST(DirectSystem, answers_each_query_before_the_next) {
  fake::ScriptedSystem::Clock clock;
  TimedExecutor executor(clock);
  DirectSystem system(executor, 4);
  const LoadResult result = run_load(
      resolve_load(of(RequestedLoad::Scenario::kSingleStream, Seconds(1.0))), system, clock);
  EXPECT_TRUE(result.valid());
  EXPECT_EQ(result.queries_completed, 1001U) << "at 0, 1, … 1000 ms";
  EXPECT_EQ(result.query_latency.max, 1ms);
  ASSERT_EQ(system.uses().size(), 2U);
  EXPECT_EQ(system.uses()[0].batches, 1001U);
  EXPECT_EQ(system.uses()[1].batches, 0U);
  EXPECT_THAT(system.describe(), HasSubstr("timed, batches of up to 4 in the issuing thread"));
}

TEST(DirectSystem, cuts_a_query_into_batches) {
  fake::ScriptedSystem::Clock clock;
  TimedExecutor executor(clock);
  DirectSystem system(executor, 3);
  const LoadResult result = run_load(
      resolve_load(of(RequestedLoad::Scenario::kMultiStream, Seconds(0.001))), system, clock);
  EXPECT_EQ(result.queries_completed, 2U) << "the first is issued at 0";
  EXPECT_THAT(executor.sizes, ElementsAre(3, 3, 2, 3, 3, 2));
  EXPECT_EQ(result.query_latency.max, 9ms) << "of the query's last sample";
  EXPECT_EQ(result.sample_latency.min, 3ms);
}

TEST(DirectSystem, fails_the_samples_of_a_batch_that_throws) {
  fake::ScriptedSystem::Clock clock;
  TimedExecutor executor(clock);
  executor.fail_at = 5;
  DirectSystem system(executor, 1);
  const LoadResult result = run_load(
      resolve_load(of(RequestedLoad::Scenario::kSingleStream, Seconds(0.2))), system, clock);
  EXPECT_EQ(result.samples_failed, 1U);
  EXPECT_EQ(result.first_failure, "element 3 of output 0 is not a finite number");
  ASSERT_FALSE(result.valid());
  EXPECT_EQ(result.shortfalls.front().kind, LoadResult::Shortfall::Kind::kFailed);
}

TEST(DirectSystem, refuses_batches_without_a_bucket) {
  fake::ScriptedSystem::Clock clock;
  TimedExecutor executor(clock);
  EXPECT_THROW(DirectSystem(executor, 0), Error);
  EXPECT_THROW(DirectSystem(executor, 5), Error);
}

}  // namespace
}  // namespace plumb::loadgen
