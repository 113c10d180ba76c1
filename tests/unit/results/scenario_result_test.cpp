// SPDX-License-Identifier: Apache-2.0
#include "harness/results/scenario_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// A load with every field set to something of its own.
ScenarioResult full() {
  ScenarioResult load;
  load.mode = "plain";
  load.model = "lenet";
  load.scenario = loadgen::ScenarioName::kInteractive;
  load.requested.scenario = loadgen::RequestedLoad::Scenario::kServer;
  load.requested.fixed_duration = Seconds(2.0);
  load.requested.percentile = 99.0;
  load.requested.latency_limit = Seconds(0.015);
  load.requested.warm_up = Seconds(0.2);
  load.requested.stall_limit = Seconds(30.0);
  load.requested.loaded_samples = 64;
  load.requested.total_samples = 64;
  load.requested.seeds = loadgen::kMlperfSeeds;
  loadgen::LoadResult result;
  result.load = loadgen::resolve_load(load.requested);
  result.load.target_rate = 81.5;
  result.system = "lenet (plain), batches of up to 8";
  result.queries_issued = 1001;
  result.queries_completed = 1000;
  result.samples_issued = 1001;
  result.samples_completed = 1000;
  result.samples_dropped = 1;
  result.over_latency = 3;
  result.begin = 700ms;
  result.last_issue = 1999ms;
  result.last_completion = 2013ms;
  result.sample_latency.count = 1000;
  result.sample_latency.min = 123ns;
  result.sample_latency.max = 20ms;
  result.sample_latency.percentiles = {1ns, 2ns, 3ns, 4ns, 5ns, 6ns};
  result.query_latency = result.sample_latency;
  result.percentile_latency = 14ms;
  result.early_stopping = loadgen::LoadResult::EarlyStopping{
      .met = true, .queries = 1001, .needed = 1001, .over = 4, .estimate_99 = 4ms, .estimate = 3ms};
  result.lateness = result.sample_latency;
  result.queries_per_second = 80.25;
  result.scheduled_per_second = 81.0;
  result.shortfalls = {
      {loadgen::LoadResult::Shortfall::Kind::kDropped, 1001, 1000, "1 of 1001 samples"}};
  load.result = result;
  load.peak =
      ScenarioResult::Peak{.rate = std::nullopt,
                           .highest_passed = 80.0,
                           .lowest_failed = 90.0,
                           .reason = "no time",
                           .probes = {{.purpose = loadgen::BudgetedLoad::Probe::Purpose::kUnloaded,
                                       .rate = 100.0,
                                       .valid = true,
                                       .queries = 20,
                                       .percentile_latency = 10ms,
                                       .reason = ""}}};
  load.batches = {.maximum_batch = 8, .timeout = 2ms, .lanes = 2};
  load.buckets = {{1, 10, 10}, {8, 20, 150}};
  load.inputs_per_sample = 4;
  load.memory = Bytes{1 << 20};
  load.reorders = 3;
  load.floor = Seconds(1e-7);
  load.preparation = Seconds(0.5);
  load.disturbance.disturbed = true;
  load.disturbance.steal_ratio = 0.25;
  load.started = parse_timestamp("2026-01-01T00:00:00Z");
  load.wall = Seconds(3.5);
  load.process = 7;
  return load;
}

TEST(ScenarioResult, reads_back_as_it_was_written) {
  const ScenarioResult load = full();
  const ScenarioResult read = scenario_result_from_json(to_json(load));
  EXPECT_EQ(to_json(read), to_json(load));
  EXPECT_EQ(read.requested.seeds.schedule, 16159082839903944936U);
  EXPECT_EQ(read.result->begin, 700ms);
  EXPECT_EQ(read.requested.seeds.data_set, 2085463073848966840U);
  EXPECT_EQ(read.result->sample_latency.min, 123ns);
  EXPECT_EQ(read.result->last_completion, 2013ms);
  EXPECT_EQ(read.result->load.target_rate, 81.5);
  EXPECT_EQ(read.batches.timeout, 2ms);
  ASSERT_EQ(read.buckets.size(), 2U);
  EXPECT_EQ(read.buckets[1].samples, 150U);
  EXPECT_EQ(read.peak->probes.front().percentile_latency, 10ms);
}

TEST(ScenarioResult, states_that_copies_count) {
  const auto document = nlohmann::json::parse(to_json(full()));
  EXPECT_EQ(document.at("copies_counted"), true);
  EXPECT_EQ(document.at("verdict"), "failed");
}

TEST(ScenarioResult, refuses_what_it_did_not_write) {
  EXPECT_THROW(static_cast<void>(scenario_result_from_json("{}")), Error);
  EXPECT_THROW(static_cast<void>(scenario_result_from_json("[1]")), Error);
  const auto document = nlohmann::json::parse(to_json(full()));
  const std::vector<std::pair<const char*, nlohmann::json>> wrong{
      {"/requested/scenario", "serving"},
      {"/requested/seeds/samples", "-1"},
      {"/requested/seeds/schedule", 5},
      {"/requested/seeds/data_set", "many"},
      {"/result/queries_issued", -1},
      {"/result/last_issue_seconds", 1e300},
      {"/result/shortfalls/0/kind", "boredom"},
      {"/result/query_latency/p99_seconds", nullptr},
      {"/peak/probes/0/rate", "fast"},
      {"/batcher/buckets/0/bucket", 1.5},
      {"/inputs_per_sample", 0},
      {"/outcome", "splendid"}};
  for (const auto& [place, value] : wrong) {
    nlohmann::json changed = document;
    changed.at(nlohmann::json::json_pointer(place)) = value;
    EXPECT_THROW(static_cast<void>(scenario_result_from_json(changed.dump())), Error) << place;
  }
  nlohmann::json long_list = document;
  long_list["batcher"]["buckets"] = std::vector<int>(20'000, 1);
  EXPECT_THROW(static_cast<void>(scenario_result_from_json(long_list.dump())), Error);
}

TEST(ScenarioResult, judges_by_what_more_time_could_change) {
  ScenarioResult load = full();
  load.peak.reset();
  const auto verdict_with = [&](std::vector<loadgen::LoadResult::Shortfall> shortfalls) {
    load.result->shortfalls = std::move(shortfalls);
    return judge_load(load);
  };
  using Kind = loadgen::LoadResult::Shortfall::Kind;
  EXPECT_EQ(verdict_with({}), ScenarioResult::Verdict::kValid);
  EXPECT_EQ(verdict_with({{Kind::kDuration, 600, 2, "short"}, {Kind::kCount, 100, 2, "few"}}),
            ScenarioResult::Verdict::kInconclusive);
  EXPECT_EQ(verdict_with({{Kind::kConfidence, 662, 600, "few"}}),
            ScenarioResult::Verdict::kInconclusive);
  for (const Kind kind : {Kind::kLatency, Kind::kDropped, Kind::kFailed, Kind::kMiscounted}) {
    EXPECT_EQ(verdict_with({{Kind::kDuration, 600, 2, "short"}, {kind, 0, 1, "bad"}}),
              ScenarioResult::Verdict::kFailed)
        << to_text(kind);
  }
  EXPECT_THAT(list_reasons(load), ElementsAre("short", "bad"));
  load.outcome = {Outcome::Kind::kCrashed, "signal 11"};
  EXPECT_EQ(judge_load(load), ScenarioResult::Verdict::kNotExecuted);
  EXPECT_THAT(list_reasons(load), ElementsAre("signal 11"));
}

TEST(ScenarioResult, judges_a_search_by_whether_any_rate_passed) {
  ScenarioResult load = full();
  load.result->shortfalls = {{loadgen::LoadResult::Shortfall::Kind::kLatency, 0.015, 0.02, "late"}};
  EXPECT_EQ(judge_load(load), ScenarioResult::Verdict::kInconclusive) << "80 a second passed";
  load.peak->highest_passed = 0.0;
  EXPECT_EQ(judge_load(load), ScenarioResult::Verdict::kFailed) << "no rate kept the limit";
  load.peak->lowest_failed.reset();
  EXPECT_EQ(judge_load(load), ScenarioResult::Verdict::kInconclusive) << "nothing was tried";
  load.peak->rate = 79.0;
  load.result->shortfalls.clear();
  EXPECT_EQ(judge_load(load), ScenarioResult::Verdict::kValid);
}

TEST(ScenarioResult, scores_what_a_scenario_is_about) {
  ScenarioResult load = full();
  EXPECT_EQ(compute_score(load)->value, std::nullopt) << "a search without a rate";
  load.peak.reset();
  EXPECT_EQ(compute_score(load)->value, 80.25);
  load.requested.scenario = loadgen::RequestedLoad::Scenario::kSingleStream;
  EXPECT_EQ(compute_score(load)->value, 0.003);
  EXPECT_EQ(compute_score(load)->unit, "seconds");
  load.outcome = {Outcome::Kind::kTimedOut, "hangs"};
  EXPECT_FALSE(compute_score(load));
}

}  // namespace
}  // namespace plumb::results
