// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/loadgen/budgeted_load.hpp"
#include "runners/fake/fake_script.hpp"

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;
using Purpose = BudgetedLoad::Probe::Purpose;

/// Answers one query after another, each after a service time: 1,000 queries/s at most.
fake::ScriptedSystem::OnIssue one_after_another(fake::Nanoseconds service) {
  return [service, free_at = fake::Nanoseconds{}](
             fake::ScriptedSystem& system, const fake::ScriptedSystem::Issue& query) mutable {
    free_at = std::max(free_at, system.clock.now()) + service;
    system.answer(query, free_at - system.clock.now());
  };
}

EffectiveLoad server(std::optional<double> rate = {}) {
  RequestedLoad load;
  load.scenario = RequestedLoad::Scenario::kServer;
  load.latency_limit = Seconds(0.010);
  load.minimum_duration = Seconds(20.0);
  load.target_rate = rate;
  return resolve_load(load);
}

TEST(PeakSearch, finds_the_rate_below_which_the_limit_is_kept) {
  for (const std::optional<double> first :
       {std::optional<double>(), std::optional(3.0), std::optional(50'000.0)}) {
    fake::ScriptedSystem::Clock clock;
    fake::ScriptedSystem system(clock, one_after_another(1ms));
    const BudgetedLoad::Peak peak = find_peak(server(first), {}, system, clock);
    ASSERT_TRUE(peak.rate.has_value()) << peak.reason;
    // M/D/1 with 1 ms and 10 ms at 99 %: theory says about 800 of the 1,000 it could serve.
    EXPECT_GT(*peak.rate, 650.0);
    EXPECT_LT(*peak.rate, 900.0);
    EXPECT_EQ(peak.probes.back().purpose, Purpose::kConfirmation);
    EXPECT_TRUE(peak.probes.back().result.valid());
    EXPECT_EQ(peak.probes.back().rate, *peak.rate);
    EXPECT_GE(peak.probes.back().result.last_issue, 20s);
    EXPECT_EQ(peak.probes.front().purpose == Purpose::kUnloaded, !first.has_value());
    EXPECT_LE(*peak.lowest_failed, peak.highest_passed * 1.05);
    EXPECT_EQ(peak.reason, "");
  }
}

TEST(PeakSearch, probes_include_early_stopping_and_are_short) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, one_after_another(1ms));
  const auto begin = clock.now();
  const BudgetedLoad::Peak peak = find_peak(server(200.0), {}, system, clock);
  for (const BudgetedLoad::Probe& probe : peak.probes) {
    if (probe.purpose == Purpose::kProbe && probe.result.valid()) {
      EXPECT_TRUE(probe.result.early_stopping->met);
      EXPECT_GE(probe.result.queries_issued, queries_needed({99.0, 0.99}, 5));
    }
    if (probe.result.stopped_as_lost) {
      EXPECT_FALSE(probe.result.valid());
    }
  }
  // LoadGen needs a full run for each of its probes.
  EXPECT_LT(clock.now() - begin, 20s * 3);
  EXPECT_GT(peak.probes.size(), 5U);
}

TEST(PeakSearch, says_why_there_is_no_rate) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem slow(clock, one_after_another(11ms));
  BudgetedLoad::Search search;
  search.probes_at_most = 5;
  const BudgetedLoad::Peak none = find_peak(server(), search, slow, clock);
  EXPECT_FALSE(none.rate.has_value());
  EXPECT_EQ(none.highest_passed, 0.0);
  EXPECT_THAT(none.reason, testing::HasSubstr("5 probes were not enough"));

  EffectiveLoad load = server();
  load.stall_limit = 1s;
  fake::ScriptedSystem dead(clock,
                            [](fake::ScriptedSystem&, const fake::ScriptedSystem::Issue&) {});
  EXPECT_THAT(find_peak(load, search, dead, clock).reason,
              testing::HasSubstr("does not answer queries: 1 of 1 samples were not answered"));
}

TEST(PeakSearch, keeps_to_its_budget) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, one_after_another(1ms));
  BudgetedLoad::Search search;
  search.budget = Seconds(5.0);
  const BudgetedLoad::Peak peak = find_peak(server(100.0), search, system, clock);
  EXPECT_FALSE(peak.rate.has_value());
  EXPECT_GE(peak.highest_passed, 100.0);
  EXPECT_THAT(peak.reason, testing::HasSubstr("budget of 5 s"));
}

TEST(PeakSearch, a_rate_found_before_any_failed_says_so) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, one_after_another(1ms));
  BudgetedLoad::Search search;
  search.probes_at_most = 3;
  const BudgetedLoad::Peak peak = find_peak(server(100.0), search, system, clock);
  EXPECT_EQ(peak.rate, 400.0);
  EXPECT_EQ(peak.lowest_failed, std::nullopt);
  EXPECT_EQ(peak.reason, "3 probes were not enough");
}

TEST(PeakSearch, refuses_other_scenarios) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, one_after_another(1ms));
  EXPECT_THROW(static_cast<void>(find_peak(resolve_load({}), {}, system, clock)), Error);
  BudgetedLoad::Search search;
  search.precision = 0.0;
  EXPECT_THROW(static_cast<void>(find_peak(server(), search, system, clock)), Error);
}

}  // namespace
}  // namespace plumb::loadgen
