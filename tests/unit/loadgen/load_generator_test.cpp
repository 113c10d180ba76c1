// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/load_generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "harness/base/error.hpp"
#include "runners/fake/fake_script.hpp"

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = LoadResult::Shortfall::Kind;

RequestedLoad asked(RequestedLoad::Scenario scenario, Seconds duration, std::uint64_t queries) {
  RequestedLoad load;
  load.scenario = scenario;
  load.minimum_duration = duration;
  load.minimum_queries = queries;
  load.total_samples = 40;
  if (scenario == RequestedLoad::Scenario::kServer) {
    load.target_rate = 1000.0;
    load.latency_limit = Seconds(0.010);
  }
  if (scenario == RequestedLoad::Scenario::kOffline) {
    load.minimum_queries.reset();
  }
  return load;
}

std::vector<Kind> kinds(const LoadResult& result) {
  std::vector<Kind> found;
  for (const LoadResult::Shortfall& shortfall : result.shortfalls) {
    found.push_back(shortfall.kind);
  }
  return found;
}

TEST(LoadGenerator, single_stream_issues_when_the_last_query_is_answered) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t i) {
                                return fake::Nanoseconds(100 * (i % 3 + 1));
                              }));
  const auto result = run_load(
      resolve_load(asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.0), 70)), system, clock);
  ASSERT_EQ(system.issues.size(), 70U);
  fake::Nanoseconds due{};
  for (std::size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(system.issues[i].time, due);
    due += fake::Nanoseconds(100 * (i % 3 + 1));
  }
  EXPECT_EQ(result.queries_completed, 70U);
  EXPECT_EQ(result.sample_latency.min, 100ns);
  EXPECT_EQ(result.sample_latency.max, 300ns);
  EXPECT_EQ(result.last_issue, due - 100ns);
  EXPECT_DOUBLE_EQ(result.queries_per_second, 69.0 / Seconds(due - 100ns).count());
  EXPECT_TRUE(result.valid());
  EXPECT_EQ(result.system, "scripted");
  EXPECT_EQ(system.flushes, 1);
}

TEST(LoadGenerator, runs_until_both_duration_and_count_are_reached) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t) { return 1ms; }));
  RequestedLoad load = asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.5), 64);
  EXPECT_EQ(run_load(resolve_load(load), system, clock).queries_issued, 501U);
  load.minimum_queries = 700;
  EXPECT_EQ(run_load(resolve_load(load), system, clock).queries_issued, 700U);
}

TEST(LoadGenerator, percentiles_and_estimate_are_those_of_the_sorted_latencies) {
  std::mt19937 random(3);
  std::vector<std::int64_t> latencies(1000);
  for (std::int64_t& latency : latencies) {
    latency = 1 + static_cast<std::int64_t>(random() % 2000);  // exact in the histogram
  }
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([&](std::size_t i) {
                                return fake::Nanoseconds(latencies[i]);
                              }));
  const auto result =
      run_load(resolve_load(asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.0), 1000)),
               system,
               clock);
  std::sort(latencies.begin(), latencies.end());
  EXPECT_EQ(result.percentile_latency.count(), latencies[900]);
  EXPECT_THAT(result.sample_latency.percentiles,
              ElementsAre(fake::Nanoseconds(latencies[500]),
                          fake::Nanoseconds(latencies[900]),
                          fake::Nanoseconds(latencies[950]),
                          fake::Nanoseconds(latencies[970]),
                          fake::Nanoseconds(latencies[990]),
                          fake::Nanoseconds(latencies[999])));
  ASSERT_TRUE(result.early_stopping.has_value());
  EXPECT_EQ(result.early_stopping->dropped, 77U);  // MLPerf's figure for 1,000 queries
  EXPECT_EQ(result.early_stopping->estimate, fake::Nanoseconds(latencies[1000 - 78]));
}

TEST(LoadGenerator, says_which_condition_failed_and_by_how_much) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock,
                              fake::ScriptedSystem::after([](std::size_t) { return 100ms; }));
  RequestedLoad load = asked(RequestedLoad::Scenario::kSingleStream, Seconds(10.0), 80);
  load.maximum_duration = Seconds(5.0);
  const auto result = run_load(resolve_load(load), system, clock);
  EXPECT_TRUE(result.out_of_budget);
  EXPECT_EQ(result.queries_issued, 50U);
  ASSERT_THAT(kinds(result), ElementsAre(Kind::kDuration, Kind::kCount, Kind::kConfidence));
  EXPECT_DOUBLE_EQ(result.shortfalls[0].required, 10.0);
  EXPECT_DOUBLE_EQ(result.shortfalls[0].actual, 4.9);
  EXPECT_THAT(result.shortfalls[0].text, HasSubstr("5.1 s short"));
  EXPECT_THAT(result.shortfalls[0].text, HasSubstr("maximum duration of 5 s ended it"));
  EXPECT_THAT(result.shortfalls[1].text, HasSubstr("30 fewer than the minimum of 80"));
  EXPECT_DOUBLE_EQ(result.shortfalls[2].required, 64.0);
  EXPECT_THAT(result.shortfalls[2].text, HasSubstr("14 more are needed"));
}

TEST(LoadGenerator, fixed_duration_needs_no_guess) {
  RequestedLoad load;
  load.fixed_duration = Seconds(1.0);
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t) { return 10ms; }));
  const auto result = run_load(resolve_load(load), system, clock);
  EXPECT_EQ(result.queries_issued, 101U);
  EXPECT_TRUE(result.valid());
}

TEST(LoadGenerator, multi_stream_query_ends_with_its_last_sample_in_any_order) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(
      clock, [](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        for (std::size_t i = 0; i < query.samples.size(); ++i) {
          s.answer({{}, {query.samples[i]}}, fake::Nanoseconds(1800 - 100 * i));
        }
      });
  const auto result = run_load(
      resolve_load(asked(RequestedLoad::Scenario::kMultiStream, Seconds(0.0), 662)), system, clock);
  EXPECT_TRUE(result.valid());
  EXPECT_EQ(result.samples_completed, 8U * 662U);
  EXPECT_EQ(result.query_latency.min, 1800ns);
  EXPECT_EQ(result.query_latency.count, 662U);
  EXPECT_EQ(result.sample_latency.min, 1100ns);
  EXPECT_EQ(result.early_stopping->estimate, 1800ns);
  EXPECT_EQ(system.issues[1].time, 1800ns);
  EXPECT_DOUBLE_EQ(result.samples_per_second, 8.0 * result.queries_per_second);
  const std::vector<std::uint64_t> set = sample_set(result.load);
  const auto place = [&](std::uint64_t index) {
    return std::find(set.begin(), set.end(), index) - set.begin();
  };
  for (const auto& query : system.issues) {
    ASSERT_EQ(query.samples.size(), 8U);
    for (std::size_t i = 1; i < 8; ++i) {
      EXPECT_EQ(place(query.samples[i].index), (place(query.samples[i - 1].index) + 1) % 40);
    }
  }
}

TEST(LoadGenerator, server_issues_exactly_on_its_schedule) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t) { return 3ms; }));
  const auto load = resolve_load(asked(RequestedLoad::Scenario::kServer, Seconds(2.0), 459));
  const auto result = run_load(load, system, clock);
  EffectiveLoad::Arrivals schedule(load.seeds.schedule, 1000.0);
  for (const auto& query : system.issues) {
    EXPECT_EQ(query.time, schedule.next());
  }
  EXPECT_GE(result.last_issue, 2s);
  EXPECT_LT(system.issues[system.issues.size() - 2].time, 2s);
  EXPECT_NEAR(result.scheduled_per_second, 1000.0, 100.0);
  EXPECT_DOUBLE_EQ(
      result.queries_per_second,
      static_cast<double>(result.queries_issued - 1) / Seconds(result.last_issue + 3ms).count());
  EXPECT_EQ(result.lateness->max, 0ns);
  EXPECT_EQ(result.over_latency, 0U);
  EXPECT_TRUE(result.valid());
}

TEST(LoadGenerator, server_counts_late_issues_against_the_system) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(
      clock, [](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        s.clock.spend(2ms);  // twice as long as there is between two arrivals
        s.answer(query, 0ns);
      });
  const auto result = run_load(
      resolve_load(asked(RequestedLoad::Scenario::kServer, Seconds(0.0), 1000)), system, clock);
  EXPECT_GT(result.sample_latency.max, 800ms);
  EXPECT_GT(result.lateness->max, 800ms);
  ASSERT_THAT(kinds(result), ElementsAre(Kind::kLatency, Kind::kConfidence));
  EXPECT_THAT(result.shortfalls[0].text, HasSubstr("above the limit of 10 ms"));
  EXPECT_GT(result.queries_per_second, 450.0);
  EXPECT_LT(result.queries_per_second, 501.0);
}

TEST(LoadGenerator, server_judges_the_limit_by_exact_counts) {
  // 99 % of 1,000: sorted[990] must keep the limit, so 9 may be over it.
  for (const std::size_t over : {9U, 10U}) {
    fake::ScriptedSystem::Clock clock;
    fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([over](std::size_t i) {
                                  return i % 100 == 7 && i / 100 < over ? 10ms + 1ns : 10ms;
                                }));
    RequestedLoad load = asked(RequestedLoad::Scenario::kServer, Seconds(0.0), 1000);
    load.target_rate = 1e6;
    const auto result = run_load(resolve_load(load), system, clock);
    EXPECT_EQ(result.over_latency, over);
    const bool late = !result.valid() && result.shortfalls.front().kind == Kind::kLatency;
    EXPECT_EQ(late, over == 10);
    EXPECT_EQ(result.early_stopping->over, over);
    EXPECT_EQ(result.early_stopping->needed, queries_needed({99.0, 0.99}, over));
  }
}

TEST(LoadGenerator, server_takes_answers_in_any_order) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t i) {
                                return fake::Nanoseconds(10ms) - i * 1us;
                              }));
  RequestedLoad load = asked(RequestedLoad::Scenario::kServer, Seconds(0.0), 9000);
  load.target_rate = 1e7;
  const auto result = run_load(resolve_load(load), system, clock);
  EXPECT_EQ(result.queries_completed, 9000U);
  EXPECT_EQ(result.sample_latency.max, 10ms);
  EXPECT_EQ(result.sample_latency.min, 10ms - 8999us);
  EXPECT_TRUE(result.valid());
}

TEST(LoadGenerator, offline_has_every_sample_at_the_start) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(
      clock, [](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        for (std::size_t i = 0; i < query.samples.size(); ++i) {
          s.answer({{}, {query.samples[i]}}, 1ms * (i + 1));
        }
      });
  RequestedLoad load = asked(RequestedLoad::Scenario::kOffline, Seconds(0.1), 1);
  load.samples_per_query = 100;
  const auto result = run_load(resolve_load(load), system, clock);
  ASSERT_EQ(system.issues.size(), 1U);
  EXPECT_EQ(system.issues[0].samples[99].index, sample_set(result.load)[99 % 40]);
  EXPECT_EQ(result.sample_latency.max, 100ms);
  EXPECT_DOUBLE_EQ(result.samples_per_second, 1000.0);
  EXPECT_FALSE(result.early_stopping.has_value());
  EXPECT_TRUE(result.valid());
  load.samples_per_query = 99;
  EXPECT_THAT(kinds(run_load(resolve_load(load), system, clock)), ElementsAre(Kind::kDuration));
}

TEST(LoadGenerator, offline_of_fixed_duration_keeps_two_queries_outstanding) {
  fake::ScriptedSystem::Clock clock;
  std::uint64_t answered = 0;
  std::uint64_t most = 0;
  fake::Nanoseconds free_at{};
  fake::ScriptedSystem system(
      clock, [&](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        free_at = std::max(free_at, s.clock.now()) + 10ms;
        s.answer(query, free_at - s.clock.now());
        s.clock.plan(free_at - s.clock.now(), [&] { ++answered; });
        most = std::max<std::uint64_t>(most, s.issues.size() - answered);
      });
  RequestedLoad load;
  load.scenario = RequestedLoad::Scenario::kOffline;
  load.fixed_duration = Seconds(1.0);
  load.samples_per_query = 16;
  const auto result = run_load(resolve_load(load), system, clock);
  EXPECT_GE(most, 2U);
  EXPECT_LE(most, 3U);  // this script counts its answer after the generator has seen it
  EXPECT_NEAR(result.samples_per_second, 1600.0, 1e-6);
  EXPECT_TRUE(result.valid());
}

TEST(LoadGenerator, drops_what_is_never_answered_and_ignores_what_comes_late) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(
      clock, [](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        if (s.issues.size() % 100 != 50) {
          s.answer(query, 1ms);
        }
      });
  RequestedLoad load = asked(RequestedLoad::Scenario::kServer, Seconds(0.0), 500);
  load.stall_limit = Seconds(2.0);
  const auto result = run_load(resolve_load(load), system, clock);
  EXPECT_EQ(result.samples_dropped, 5U);
  EXPECT_EQ(result.queries_completed, 495U);
  EXPECT_EQ(result.early_stopping->over, 5U);
  ASSERT_THAT(kinds(result), ElementsAre(Kind::kDropped, Kind::kConfidence));
  EXPECT_THAT(result.shortfalls[0].text, HasSubstr("5 of 500 samples were not answered"));
  system.answer(system.issues[49], 0ns);
  clock.spend(1ms);  // finds nobody, and breaks nothing
}

TEST(LoadGenerator, single_stream_ends_with_a_query_that_is_never_answered) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(
      clock, [](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        if (s.issues.size() < 10) {
          s.answer(query, 1ms);
        }
      });
  const auto result = run_load(
      resolve_load(asked(RequestedLoad::Scenario::kSingleStream, Seconds(1.0), 1)), system, clock);
  EXPECT_EQ(result.queries_issued, 10U);
  EXPECT_EQ(result.samples_dropped, 1U);
  EXPECT_EQ(result.shortfalls.front().kind, Kind::kDropped);
}

TEST(LoadGenerator, counts_answers_to_nothing) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(
      clock, [](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        s.answer(query, 1us);
        if (s.issues.size() == 3) {
          s.answer(query, 2us);                      // a second time
          s.answer({{}, {{12'345'678, 0}}}, 500ns);  // never issued
          s.answer({{}, {{0, 0}}}, 500ns);
          s.answer({{}, {{~0ULL, 0}}}, 500ns);
        }
      });
  const auto result =
      run_load(resolve_load(asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.0), 100)),
               system,
               clock);
  EXPECT_EQ(result.queries_completed, 100U);
  EXPECT_EQ(result.unknown_answers, 4U);
  EXPECT_THAT(kinds(result), ElementsAre(Kind::kMiscounted));
}

TEST(LoadGenerator, goes_on_after_failed_samples_and_keeps_the_first_reason) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(
      clock, [](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        if (s.issues.size() % 10 == 0) {
          const std::string reason = "out of memory in query " + std::to_string(s.issues.size());
          s.answers->fail(std::vector<std::uint64_t>{query.samples[0].id}, reason);
        } else {
          s.answer(query, 1us);
        }
      });
  const auto result =
      run_load(resolve_load(asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.0), 100)),
               system,
               clock);
  EXPECT_EQ(result.samples_failed, 10U);
  EXPECT_EQ(result.samples_dropped, 0U);
  EXPECT_EQ(result.queries_completed, 90U);
  ASSERT_THAT(kinds(result), ElementsAre(Kind::kFailed));
  EXPECT_THAT(result.shortfalls[0].text, HasSubstr("the first: out of memory in query 10"));
}

class KeptResponses final : public ResponseLog {
 public:
  void record(std::uint64_t sequence,
              std::uint64_t index,
              std::span<const std::byte> /*data*/) override {
    indices.push_back(index);
    sequences.push_back(sequence);
  }
  std::vector<std::uint64_t> indices;
  std::vector<std::uint64_t> sequences;
};

TEST(LoadGenerator, accuracy_mode_runs_every_sample_once_in_each_scenario) {
  for (const auto scenario : {RequestedLoad::Scenario::kSingleStream,
                              RequestedLoad::Scenario::kMultiStream,
                              RequestedLoad::Scenario::kServer,
                              RequestedLoad::Scenario::kOffline}) {
    fake::ScriptedSystem::Clock clock;
    fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t) { return 1s; }));
    RequestedLoad load = asked(scenario, Seconds(100.0), 5000);
    load.mode = RequestedLoad::Mode::kAccuracy;
    load.total_samples = 43;
    load.loaded_samples = 7;
    KeptResponses kept;
    const auto result = run_load(resolve_load(load), system, clock, &kept);
    std::vector<std::uint64_t> all(43);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_THAT(kept.indices, testing::UnorderedElementsAreArray(all)) << to_text(scenario);
    EXPECT_EQ(kept.sequences, all);
    EXPECT_TRUE(result.valid()) << result.shortfalls.front().text;
  }
}

TEST(LoadGenerator, accuracy_mode_that_runs_out_of_budget_is_not_valid) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t) { return 1s; }));
  RequestedLoad load = asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.0), 1);
  load.mode = RequestedLoad::Mode::kAccuracy;
  load.maximum_duration = Seconds(10.0);
  const auto result = run_load(resolve_load(load), system, clock);
  ASSERT_THAT(kinds(result), ElementsAre(Kind::kCount));
  EXPECT_THAT(result.shortfalls[0].text, HasSubstr("10 of the 40 samples"));
}

TEST(LoadGenerator, warm_up_leaves_no_trace_in_the_result) {
  fake::ScriptedSystem::Clock clock;
  int calls = 0;
  fake::ScriptedSystem system(
      clock, [&](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        s.answer(query, ++calls <= 5 ? 500ms : 1us);
      });
  RequestedLoad load = asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.0), 100);
  load.warm_up = Seconds(1.0);
  const auto result = run_load(resolve_load(load), system, clock);
  EXPECT_EQ(system.starts, 2);
  EXPECT_EQ(result.queries_issued, 100U);
  EXPECT_EQ(result.sample_latency.max, 500ms);  // the first three warmed up, two did not
  EXPECT_EQ(calls, 103);
}

TEST(LoadGenerator, server_in_accuracy_mode_needs_no_rate) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t) { return 1s; }));
  RequestedLoad load = asked(RequestedLoad::Scenario::kServer, Seconds(0.0), 1);
  load.mode = RequestedLoad::Mode::kAccuracy;
  load.target_rate.reset();
  const LoadResult result = run_load(resolve_load(load), system, clock);
  EXPECT_EQ(result.queries_completed, 40U);
  EXPECT_EQ(result.last_completion, 1s) << "all were due at the start";
}

TEST(LoadGenerator, slots_are_used_again) {
  fake::ScriptedSystem::Clock clock;
  std::uint32_t largest = 0;
  fake::ScriptedSystem system(
      clock, [&](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        largest = std::max(largest, static_cast<std::uint32_t>(query.samples[0].id));
        s.answers->complete(std::vector<Completions::Response>{{query.samples[0].id, {}}});
      });
  const auto result =
      run_load(resolve_load(asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.0), 50'000)),
               system,
               clock);
  EXPECT_EQ(result.queries_completed, 50'000U);
  EXPECT_LE(largest, CompletionRecorder::InFlightTable::kSlotsAChunk);
}

TEST(LoadGenerator, same_seed_same_samples) {
  const auto indices = [](std::uint64_t seed) {
    fake::ScriptedSystem::Clock clock;
    fake::ScriptedSystem system(clock,
                                fake::ScriptedSystem::after([](std::size_t) { return 1us; }));
    RequestedLoad load = asked(RequestedLoad::Scenario::kSingleStream, Seconds(0.0), 200);
    load.seeds.samples = seed;
    load.loaded_samples = 10;
    static_cast<void>(run_load(resolve_load(load), system, clock));
    std::vector<std::uint64_t> found;
    for (const auto& query : system.issues) {
      found.push_back(query.samples[0].index);
    }
    return found;
  };
  EXPECT_EQ(indices(5), indices(5));
  EXPECT_NE(indices(5), indices(6));
  EXPECT_THAT(indices(5), testing::Each(testing::Lt(10U)));
}

TEST(LoadGenerator, server_without_a_rate_is_refused) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, fake::ScriptedSystem::after([](std::size_t) { return 1us; }));
  RequestedLoad load = asked(RequestedLoad::Scenario::kServer, Seconds(0.0), 1);
  load.target_rate.reset();
  EXPECT_THROW(static_cast<void>(run_load(resolve_load(load), system, clock)), Error);
}

}  // namespace
}  // namespace plumb::loadgen
