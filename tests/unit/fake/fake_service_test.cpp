// SPDX-License-Identifier: Apache-2.0
#include "runners/fake/fake_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::fake {
namespace {

// 2 × 512 × 512 × 512 operations = 268,435,456: 5.37 ms at 50 GFLOP/s; 3 MiB: 0.31 ms at 10 GB/s.
const model::LayerKey kMatmul{
    "v1:matmul;in=f32[512,512],f32[512,512]c;out=f32[512,512];acc=f32;math=strict"};
const model::LayerKey kMatmulBf16{
    "v1:matmul;in=bf16[512,512],bf16[512,512]c;out=bf16[512,512];acc=f32;math=strict"};
// One operation an element: its bytes decide.
const model::LayerKey kRelu{
    "v1:eltwise;in=f32[1000,1000];out=f32[1000,1000];acc=f32;math=strict;fn=relu;parameters=[]"};

std::vector<results::Measurement> measure(const worker::WorkerService::MeasureRequest& request,
                                          Script script = default_script()) {
  FakeService service(std::move(script));
  std::vector<results::Measurement> rows;
  service.measure(
      request, [&](results::Measurement row) { rows.push_back(std::move(row)); }, [] {});
  return rows;
}

std::vector<results::Measurement> of_purpose(const std::vector<results::Measurement>& rows,
                                             results::Purpose purpose) {
  std::vector<results::Measurement> chosen;
  std::copy_if(
      rows.begin(), rows.end(), std::back_inserter(chosen), [&](const results::Measurement& row) {
        return row.purpose == purpose;
      });
  return chosen;
}

TEST(FakeService, computes_times_from_operations_and_bytes) {
  const double ideal = 268'435'456 / 5e10 + 1e-6;
  EXPECT_GE(fake_time(kMatmul, "any", results::CacheMode::kNone).count(), ideal);
  EXPECT_LT(fake_time(kMatmul, "any", results::CacheMode::kNone).count(), 1.5 * ideal);
  EXPECT_LT(fake_time(kMatmulBf16, "any", results::CacheMode::kNone).count(),
            1.5 * (268'435'456 / 1e11 + 1e-6));
  const double bytes = 8e6 / 1e10 + 1e-6;
  EXPECT_GE(fake_time(kRelu, "any", results::CacheMode::kNone).count(), bytes);
  EXPECT_LT(fake_time(kRelu, "any", results::CacheMode::kNone).count(), 1.5 * bytes);
  EXPECT_EQ(fake_time(kRelu, "any", results::CacheMode::kWeights),
            fake_time(kRelu, "any", results::CacheMode::kNone));
}

TEST(FakeService, has_the_same_times_on_every_machine) {
  // SHA-256 of "x|y" starts with 791a (by sha256sum).
  const double fraction = static_cast<double>(0x791a) / 65536.0;
  EXPECT_EQ(fake_time({"x"}, "y", results::CacheMode::kNone).count(),
            (1e6 / 5e10 + 1e-6) * (1.0 + 0.5 * fraction));
}

TEST(FakeService, races_every_variant_then_measures_the_best_and_the_choice_in_full) {
  worker::WorkerService::MeasureRequest request;
  request.key = kMatmul;
  request.race_margin = 0.0;
  request.caches = {results::CacheMode::kNone, results::CacheMode::kWeights};
  const std::vector<results::Measurement> rows = measure(request);
  const std::vector<results::Measurement> races = of_purpose(rows, results::Purpose::kRace);
  const std::vector<results::Measurement> full = of_purpose(rows, results::Purpose::kFull);
  ASSERT_EQ(races.size(), 6U);
  for (std::size_t cache = 0; cache < 2; ++cache) {
    Seconds best = Seconds::max();
    for (std::size_t i = 0; i < 3; ++i) {
      best = std::min(best, races[3 * cache + i].summary.median);
    }
    bool fastest = false;
    bool choice = false;
    for (const results::Measurement& row : full) {
      if (row.cache == request.caches[cache]) {
        EXPECT_TRUE(row.summary.median <= best || row.library_choice) << row.variant;
        fastest = fastest || row.summary.median <= best;
        choice = choice || row.library_choice;
      }
    }
    EXPECT_TRUE(fastest);
    EXPECT_TRUE(choice);
  }
}

TEST(FakeService, measures_exactly_the_variants_asked_for) {
  worker::WorkerService::MeasureRequest request;
  request.key = kMatmul;
  request.variants = {"algorithm=winograd"};
  request.purpose = results::Purpose::kConfirm;
  const std::vector<results::Measurement> rows = measure(request);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].variant, "algorithm=winograd");
  EXPECT_EQ(rows[0].purpose, results::Purpose::kConfirm);
  EXPECT_EQ(rows[0].outcome.kind, results::Outcome::Kind::kOk);
  EXPECT_EQ(rows[0].samples.size(), 9U);
  EXPECT_EQ(rows[0].summary.n, 9U);
  EXPECT_EQ(rows[0].summary.median,
            fake_time(kMatmul, "algorithm=winograd", results::CacheMode::kNone));
  EXPECT_EQ(to_text(rows[0].started), "2026-01-01T00:00:00.000000Z");
}

TEST(FakeService, refuses_a_key_in_one_row_without_a_variant) {
  Script script = default_script();
  script.rules = {
      {.match = "v1:matmul*", .outcome = {results::Outcome::Kind::kUnsupported, "not here"}}};
  worker::WorkerService::MeasureRequest request;
  request.key = kMatmul;
  request.caches = {results::CacheMode::kNone, results::CacheMode::kAll};
  const std::vector<results::Measurement> rows = measure(request, script);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].variant, "");
  EXPECT_EQ(rows[0].outcome, (results::Outcome{results::Outcome::Kind::kUnsupported, "not here"}));
  EXPECT_EQ(rows[1].cache, results::CacheMode::kAll);
  EXPECT_TRUE(FakeService(script).variants(kMatmul).empty());
  EXPECT_EQ(FakeService(script).variants(kRelu).size(), 3U);
}

TEST(FakeService, drops_a_failed_variant_from_the_race) {
  Script script = default_script();
  script.rules = {
      {.variant = "algorithm=direct", .outcome = {results::Outcome::Kind::kWrongResult, "by 3"}},
      {.variant = "algorithm=gemm", .time = Seconds(1)},
      {.time = Seconds(2)}};
  worker::WorkerService::MeasureRequest request;
  request.key = kMatmul;
  const std::vector<results::Measurement> rows = measure(request, script);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].outcome, (results::Outcome{results::Outcome::Kind::kWrongResult, "by 3"}));
  EXPECT_TRUE(rows[0].samples.empty());
  EXPECT_EQ(rows[3].purpose, results::Purpose::kFull);
  EXPECT_EQ(rows[3].variant, "algorithm=gemm");
  EXPECT_EQ(rows[3].summary.median, Seconds(1));
}

std::vector<results::Execution> execute(const Script& script,
                                        const worker::ExecuteRequest& request) {
  std::vector<results::Execution> executions;
  FakeService(script).execute(
      request,
      [&](results::Execution execution) { executions.push_back(std::move(execution)); },
      [](const worker::ExecuteRequest::Progress&) {},
      [] {});
  return executions;
}

TEST(FakeService, executes_a_model_in_the_time_of_its_layers_or_as_the_script_says) {
  worker::ExecuteRequest request;
  request.name = "sample";
  request.model = "not a model";
  Script script = default_script();
  script.rules.push_back({.match = "model:sample", .variant = "plain", .time = Seconds(0.25)});
  const std::vector<results::Execution> scripted = execute(script, request);
  ASSERT_EQ(scripted.size(), 1U);
  EXPECT_EQ(scripted[0].mode, "plain");
  EXPECT_EQ(scripted[0].row.summary.median, Seconds(0.25));
  EXPECT_THROW(static_cast<void>(execute(default_script(), request)), Error);
  script.rules[0].outcome = {results::Outcome::Kind::kWrongResult, "nan"};
  EXPECT_EQ(execute(script, request)[0].row.outcome.reason, "nan");
}

worker::LoadRequest load_request(loadgen::RequestedLoad::Scenario scenario) {
  worker::LoadRequest request;
  request.buckets.resize(1);
  request.buckets[0].model.name = "sample";
  request.load.scenario = scenario;
  request.load.fixed_duration = Seconds(10.0);
  if (scenario == loadgen::RequestedLoad::Scenario::kServer) {
    request.load.latency_limit = Seconds(0.1);
  }
  return request;
}

results::ScenarioResult loaded(const worker::LoadRequest& request, const Script::Rule& rule) {
  Script script = default_script();
  script.rules.push_back(rule);
  return FakeService(script).load(request, [](const worker::LoadRequest::Progress&) {});
}

TEST(FakeService, loads_a_model_the_same_way_every_time) {
  const Script::Rule rule{.match = "model:sample", .time = Seconds(0.001)};
  for (const loadgen::RequestedLoad::Scenario scenario :
       {loadgen::RequestedLoad::Scenario::kSingleStream,
        loadgen::RequestedLoad::Scenario::kMultiStream,
        loadgen::RequestedLoad::Scenario::kServer,
        loadgen::RequestedLoad::Scenario::kOffline}) {
    const results::ScenarioResult load = loaded(load_request(scenario), rule);
    EXPECT_EQ(judge_load(load), results::ScenarioResult::Verdict::kValid) << to_text(scenario);
    EXPECT_EQ(to_json(load), to_json(loaded(load_request(scenario), rule)));
    EXPECT_EQ(results::scenario_result_from_json(to_json(load)).scenario,
              loadgen::name_of(scenario));
  }
}

TEST(FakeService, waits_while_the_file_of_a_rule_exists) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "hold";
  std::ofstream(file) << "wait";
  std::atomic<bool> ended{false};
  std::thread worker([&] {
    act({.hold = file});
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(ended);
  std::filesystem::remove(file);
  worker.join();
  EXPECT_TRUE(ended);
}

TEST(FakeService, fails_or_drops_what_the_script_says) {
  const worker::LoadRequest request = load_request(loadgen::RequestedLoad::Scenario::kSingleStream);
  const results::ScenarioResult failed =
      loaded(request,
             {.match = "model:sample",
              .outcome = {results::Outcome::Kind::kWrongResult, "nan"},
              .time = Seconds(1)});
  ASSERT_TRUE(failed.result);
  EXPECT_EQ(failed.result->first_failure, "nan");
  EXPECT_EQ(judge_load(failed), results::ScenarioResult::Verdict::kFailed);
  const results::ScenarioResult dropped =
      loaded(request,
             {.match = "model:sample",
              .outcome = {results::Outcome::Kind::kTimedOut, ""},
              .time = Seconds(1)});
  ASSERT_TRUE(dropped.result);
  EXPECT_EQ(dropped.result->samples_dropped, 1U);
  EXPECT_EQ(judge_load(dropped), results::ScenarioResult::Verdict::kFailed);
  const results::ScenarioResult refused =
      loaded(request,
             {.match = "model:sample",
              .variant = "single_stream",
              .outcome = {results::Outcome::Kind::kUnsupported, "no"}});
  EXPECT_EQ(judge_load(refused), results::ScenarioResult::Verdict::kNotExecuted);
}

}  // namespace
}  // namespace plumb::fake
