// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/budgeted_load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/fake/fake_script.hpp"

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

/// Serves one query after the other, each sample in a time.
fake::ScriptedSystem::OnIssue serve(fake::Nanoseconds sample) {
  return [sample, busy = fake::Nanoseconds{}](fake::ScriptedSystem& system,
                                              const fake::ScriptedSystem::Issue& query) mutable {
    const fake::Nanoseconds now = system.clock.now();
    busy = std::max(busy, now) + sample * static_cast<std::int64_t>(query.samples.size());
    system.answer(query, busy - now);
  };
}

struct Ran {
  BudgetedLoad load;
  std::vector<std::string> phases;
  fake::Nanoseconds took{};
};

Ran run(const RequestedLoad& asked, std::optional<Seconds> budget, fake::Nanoseconds sample) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, serve(sample));
  Ran ran;
  const fake::Nanoseconds begin = clock.now();
  ran.load = run_within(
      asked, budget, system, clock, [&](const std::string& phase) { ran.phases.push_back(phase); });
  ran.took = clock.now() - begin;
  return ran;
}

RequestedLoad of(RequestedLoad::Scenario scenario) {
  RequestedLoad load;
  load.scenario = scenario;
  load.total_samples = 64;
  if (scenario == RequestedLoad::Scenario::kServer) {
    load.latency_limit = Seconds(0.1);
  }
  return load;
}

TEST(BudgetedLoad, sizes_offlines_query_without_a_guess) {
  RequestedLoad asked = of(RequestedLoad::Scenario::kOffline);
  const Ran ran = run(asked, std::nullopt, 1ms);
  EXPECT_THAT(ran.phases, ElementsAre("finding the rate", "running"));
  ASSERT_TRUE(ran.load.result);
  EXPECT_TRUE(ran.load.result->valid());
  EXPECT_NEAR(*ran.load.requested.expected_rate, 1000.0, 1.0);
  EXPECT_EQ(ran.load.result->queries_issued, 1U);
  EXPECT_GE(ran.load.result->last_completion, 600s);
  EXPECT_LE(ran.load.result->last_completion, 700s);
}

TEST(BudgetedLoad, says_that_the_budget_was_too_short_for_offline) {
  const Ran ran = run(of(RequestedLoad::Scenario::kOffline), Seconds(60.0), 1ms);
  ASSERT_TRUE(ran.load.result);
  EXPECT_LE(ran.took, 62s);
  ASSERT_FALSE(ran.load.result->valid());
  const LoadResult::Shortfall& shortfall = ran.load.result->shortfalls.front();
  EXPECT_EQ(shortfall.kind, LoadResult::Shortfall::Kind::kDuration);
  EXPECT_EQ(shortfall.required, 600.0);
  EXPECT_NEAR(shortfall.actual, 60.0, 2.0);
  EXPECT_THAT(shortfall.text, HasSubstr("the budget of 60 s allowed for"));
}

TEST(BudgetedLoad, says_that_the_budget_was_too_short_for_offlines_count) {
  // 24,576 samples would take 2,458 s: the duration is reached before.
  const Ran ran = run(of(RequestedLoad::Scenario::kOffline), Seconds(700.0), 100ms);
  ASSERT_TRUE(ran.load.result);
  EXPECT_THAT(ran.load.result->shortfalls,
              Contains(Field(&LoadResult::Shortfall::kind, LoadResult::Shortfall::Kind::kCount)));
  EXPECT_EQ(ran.load.result->shortfalls.front().required, 24'576.0);
}

TEST(BudgetedLoad, ends_a_stream_at_the_budget_and_says_by_how_much) {
  const Ran ran = run(of(RequestedLoad::Scenario::kSingleStream), Seconds(60.0), 100ms);
  ASSERT_TRUE(ran.load.result);
  EXPECT_TRUE(ran.load.result->out_of_budget);
  EXPECT_LE(ran.took, 61s);
  ASSERT_FALSE(ran.load.result->valid());
  EXPECT_THAT(ran.load.result->shortfalls.front().text,
              HasSubstr("short of the minimum duration of 600 s; the maximum duration of 60 s"));
}

TEST(BudgetedLoad, searches_for_a_rate_that_nobody_gave) {
  RequestedLoad asked = of(RequestedLoad::Scenario::kServer);
  asked.fixed_duration = Seconds(60.0);
  const Ran ran = run(asked, std::nullopt, 1ms);
  EXPECT_THAT(ran.phases, ElementsAre("searching for the peak"));
  ASSERT_TRUE(ran.load.peak && ran.load.peak->rate);
  EXPECT_GT(*ran.load.peak->rate, 700.0);
  EXPECT_LT(*ran.load.peak->rate, 1000.0);
  EXPECT_TRUE(ran.load.result->valid());
  EXPECT_EQ(ran.load.result->load.target_rate, ran.load.peak->rate);
}

TEST(BudgetedLoad, leaves_time_to_confirm_a_rate) {
  RequestedLoad asked = of(RequestedLoad::Scenario::kServer);
  asked.minimum_duration = Seconds(20.0);
  const Ran ran = run(asked, Seconds(60.0), 1ms);
  EXPECT_LE(ran.took, 61s);
  ASSERT_TRUE(ran.load.peak);
  ASSERT_TRUE(ran.load.peak->rate) << ran.load.peak->reason;
  EXPECT_TRUE(ran.load.result->valid());
  EXPECT_GE(ran.load.result->last_issue, 20s);
}

TEST(BudgetedLoad, takes_no_probe_for_a_result) {
  RequestedLoad asked = of(RequestedLoad::Scenario::kServer);
  const Ran ran = run(asked, Seconds(30.0), 1ms);
  EXPECT_LE(ran.took, 31s);
  ASSERT_TRUE(ran.load.peak);
  EXPECT_FALSE(ran.load.peak->rate) << "the full duration is 600 s";
  ASSERT_TRUE(ran.load.result);
  EXPECT_THAT(
      ran.load.result->shortfalls,
      Contains(Field(&LoadResult::Shortfall::kind, LoadResult::Shortfall::Kind::kDuration)));
}

TEST(BudgetedLoad, gives_a_search_up_where_an_idle_system_is_late) {
  RequestedLoad asked = of(RequestedLoad::Scenario::kServer);
  asked.fixed_duration = Seconds(2.0);
  asked.latency_limit = Seconds(0.0005);
  const Ran ran = run(asked, std::nullopt, 1ms);
  ASSERT_TRUE(ran.load.peak);
  EXPECT_FALSE(ran.load.peak->rate);
  EXPECT_EQ(ran.load.peak->highest_passed, 0.0);
  EXPECT_LE(ran.load.peak->probes.size(), 8U);
  EXPECT_LE(ran.took, 60s);
  EXPECT_FALSE(ran.load.result->valid());
}

}  // namespace
}  // namespace plumb::loadgen
