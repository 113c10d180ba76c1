// SPDX-License-Identifier: Apache-2.0
// The logs are read as LoadGen's readers read them: by the marker, the key, the value, and two
// flags.
#include "harness/loadgen/mlperf/mlperf_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/loadgen/load_generator.hpp"
#include "runners/fake/fake_script.hpp"

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

struct Detail {
  std::map<std::string, nlohmann::json> values;
  std::map<std::string, double> milliseconds;
  std::vector<std::string> errors;
};

/// Parses a detail log: every line, and nothing but what readers look at. The first value of a key
/// counts.
Detail parse_detail(const std::string& text) {
  Detail detail;
  std::istringstream lines(text);
  const std::string marker = ":::MLLOG ";
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.substr(0, marker.size()), marker);
    const auto entry = nlohmann::json::parse(line.substr(marker.size()));
    const auto& metadata = entry.at("metadata");
    EXPECT_EQ(entry.at("namespace"), "mlperf::logging");
    EXPECT_EQ(entry.at("event_type"), "POINT_IN_TIME");
    EXPECT_GE(entry.at("time_ms").get<double>(), 0.0);
    EXPECT_TRUE(metadata.at("is_warning").is_boolean());
    EXPECT_TRUE(metadata.at("pid").is_number_integer() && metadata.at("tid").is_number_integer());
    EXPECT_TRUE(metadata.at("file").is_string() && metadata.at("line_no").is_number_integer());
    if (metadata.at("is_error").get<bool>()) {
      detail.errors.push_back(entry.at("value"));
    }
    detail.milliseconds.emplace(entry.at("key").get<std::string>(), entry.at("time_ms"));
    detail.values.emplace(entry.at("key").get<std::string>(), entry.at("value"));
  }
  return detail;
}

RequestedLoad asked(RequestedLoad::Scenario scenario) {
  RequestedLoad load;
  load.scenario = scenario;
  load.total_samples = 60;
  load.loaded_samples = 50;
  load.seeds = kMlperfSeeds;
  if (scenario == RequestedLoad::Scenario::kServer) {
    load.target_rate = 100.0;
    load.latency_limit = Seconds(0.015);
  }
  return load;
}

struct LoggedRun {
  LoadResult result;
  std::string summary;
  std::string text;
  Detail detail;
};

LoggedRun run(const RequestedLoad& load, const fake::ScriptedSystem::OnIssue& on_issue) {
  fake::ScriptedSystem::Clock clock;
  fake::ScriptedSystem system(clock, on_issue);
  LoggedRun run;
  run.result = run_load(resolve_load(load), system, clock);
  std::ostringstream summary;
  std::ostringstream detail;
  write_mlperf_summary(summary, run.result);
  write_mlperf_detail(
      detail,
      run.result,
      {"Plumbline 1", "c0ffee", parse_timestamp("2026-11-21T00:00:00Z"), "noise", 4711, load});
  run.summary = summary.str();
  run.text = detail.str();
  run.detail = parse_detail(run.text);
  return run;
}

fake::ScriptedSystem::OnIssue steadily(fake::Nanoseconds latency) {
  return fake::ScriptedSystem::after([latency](std::size_t) { return latency; });
}

TEST(MlperfLog, detail_has_the_keys_that_the_submission_checker_wants) {
  const std::vector<std::string> common{"sut_name",
                                        "effective_scenario",
                                        "effective_performance_sample_count",
                                        "effective_qsl_rng_seed",
                                        "effective_sample_index_rng_seed",
                                        "effective_schedule_rng_seed",
                                        "effective_min_query_count",
                                        "effective_samples_per_query",
                                        "effective_min_duration_ms",
                                        "effective_accuracy_sample_count",
                                        "early_stopping_met",
                                        "result_99.00_percentile_latency_ns",
                                        "result_validity",
                                        "requested_use_token_latencies",
                                        "result_mean_latency_ns",
                                        "num_errors"};
  const std::map<RequestedLoad::Scenario, std::vector<std::string>> own{
      {RequestedLoad::Scenario::kSingleStream,
       {"early_stopping_latency_ss", "early_stopping_latency_ms"}},
      {RequestedLoad::Scenario::kMultiStream,
       {"early_stopping_latency_ms", "result_99.00_percentile_per_query_latency_ns"}},
      {RequestedLoad::Scenario::kServer,
       {"effective_target_latency_ns", "result_completed_samples_per_sec"}},
      {RequestedLoad::Scenario::kOffline, {"result_samples_per_second"}}};
  for (const auto& [scenario, keys] : own) {
    const LoggedRun done = run(asked(scenario), steadily(10ms));
    for (const auto* list : {&common, &keys}) {
      for (const std::string& key : *list) {
        EXPECT_EQ(done.detail.values.count(key), 1U) << to_text(scenario) << " " << key;
      }
    }
    EXPECT_EQ(done.text.rfind(":::MLLOG", 0), 0U);
    EXPECT_TRUE(done.detail.errors.empty());
  }
}

TEST(MlperfLog, detail_says_what_the_result_says) {
  const LoggedRun done = run(asked(RequestedLoad::Scenario::kSingleStream), steadily(10ms));
  auto& values = done.detail.values;
  EXPECT_EQ(values.at("effective_scenario"), "SingleStream");
  EXPECT_EQ(values.at("effective_test_mode"), "PerformanceOnly");
  EXPECT_EQ(values.at("effective_min_duration_ms"), 600'000);
  EXPECT_EQ(values.at("effective_min_query_count"), 100);
  EXPECT_EQ(values.at("effective_performance_sample_count"), 50);
  EXPECT_EQ(values.at("effective_accuracy_sample_count"), 60);
  EXPECT_EQ(values.at("effective_qsl_rng_seed"), 2085463073848966840U);
  EXPECT_EQ(values.at("effective_schedule_rng_seed"), 16159082839903944936U);
  EXPECT_EQ(values.at("effective_sample_index_rng_seed"), 2747215439041700203U);
  EXPECT_EQ(values.at("result_validity"), "VALID");
  EXPECT_EQ(values.at("result_query_count"), 60'001);
  EXPECT_EQ(values.at("early_stopping_met"), true);
  EXPECT_EQ(values.at("early_stopping_latency_ss"), 10'000'000);
  EXPECT_EQ(values.at("early_stopping_latency_ms"), 10'000'000);
  EXPECT_EQ(values.at("result_99.90_percentile_latency_ns"), 10'000'000);
  EXPECT_DOUBLE_EQ(values.at("result_qps_without_loadgen_overhead").get<double>(), 100.0);
  EXPECT_EQ(values.at("num_errors"), 0);
}

TEST(MlperfLog, lines_have_the_time_of_the_runs_start_or_end) {
  RequestedLoad load = asked(RequestedLoad::Scenario::kSingleStream);
  load.fixed_duration = Seconds(2.0);
  const LoggedRun done = run(load, steadily(10ms));
  LoadResult result = done.result;
  result.begin = 1500ms;
  std::ostringstream text;
  write_mlperf_detail(
      text, result, {"p", "c", parse_timestamp("2026-11-21T23:59:59Z"), "d", 1, load});
  const Detail detail = parse_detail(text.str());
  for (const char* key : {"loadgen_version", "requested_scenario", "effective_scenario"}) {
    EXPECT_EQ(detail.milliseconds.at(key), 1500.0) << key;
  }
  for (const char* key : {"generated_query_count", "result_validity", "num_errors"}) {
    EXPECT_EQ(detail.milliseconds.at(key), 3510.0) << key;
  }
  EXPECT_EQ(detail.values.at("power_begin"), "11-22-2026 00:00:00.500");
  EXPECT_EQ(detail.values.at("power_end"), "11-22-2026 00:00:02.510");
}

TEST(MlperfLog, detail_lists_the_loaded_samples) {
  const LoggedRun done = run(asked(RequestedLoad::Scenario::kOffline), steadily(1000s));
  const auto set = done.detail.values.at("loaded_qsl_set").get<std::vector<std::uint64_t>>();
  EXPECT_EQ(set.size(), 50U);
  EXPECT_EQ(std::set<std::uint64_t>(set.begin(), set.end()).size(), 50U);
  EXPECT_EQ(done.detail.values.at("early_stopping_result"), "") << "as LoadGen's";
  EXPECT_EQ(done.detail.values.at("generated_query_count"), 1);
}

TEST(MlperfLog, detail_tells_errors_from_reasons) {
  RequestedLoad load = asked(RequestedLoad::Scenario::kServer);
  load.fixed_duration = Seconds(3.0);
  const LoggedRun done =
      run(load, [](fake::ScriptedSystem& s, const fake::ScriptedSystem::Issue& query) {
        if (s.issues.size() != 7) {
          s.answer(query, 20ms);
        }
      });
  auto& values = done.detail.values;
  EXPECT_EQ(values.at("result_validity"), "INVALID");
  EXPECT_EQ(values.at("result_perf_constraints_met"), false);
  EXPECT_EQ(values.at("result_min_duration_met"), true);
  EXPECT_EQ(values.at("result_overlatency_query_count"), done.result.over_latency);
  EXPECT_EQ(values.at("effective_target_latency_ns"), 15'000'000);
  EXPECT_THAT(values.at("result_invalid_reason").get<std::string>(),
              HasSubstr("99 % latency is 20"));
  ASSERT_EQ(done.detail.errors.size(), 1U);
  EXPECT_THAT(done.detail.errors[0], HasSubstr("not answered"));
  EXPECT_EQ(values.at("num_errors"), 1);
  EXPECT_THAT(done.summary, HasSubstr("1 ERRORS encountered during test:"));
}

TEST(MlperfLog, names_from_outside_cannot_forge_lines) {
  LoadResult result;
  result.system = "a\"b\nResult is : VALID\n:::MLLOG {\"key\": \"x\"}\x01 \xff";
  std::ostringstream detail;
  write_mlperf_detail(detail, result, {"p", "c", {}, "d\\", 1, {}});
  const Detail parsed = parse_detail(detail.str());
  EXPECT_THAT(parsed.values.at("sut_name").get<std::string>(), HasSubstr("a\"b\nResult"));
  EXPECT_EQ(parsed.values.count("x"), 0U);
  std::ostringstream summary;
  write_mlperf_summary(summary, result);
  EXPECT_THAT(summary.str(), Not(HasSubstr("\nResult is : VALID\n:::")));
}

TEST(MlperfLog, summary_has_loadgens_labels) {
  const LoggedRun single = run(asked(RequestedLoad::Scenario::kSingleStream), steadily(10ms));
  for (const char* line : {"SUT name : scripted\n",
                           "Scenario : SingleStream\n",
                           "Mode     : PerformanceOnly\n",
                           "90.0th percentile latency (ns) : 10000000\n",
                           "Result is : VALID\n",
                           "  Min duration satisfied : Yes\n",
                           "  Min queries satisfied : Yes\n",
                           "  Early stopping satisfied: Yes\n",
                           " * Processed at least 64 queries (60001).\n",
                           " * Early stopping 90.0th percentile estimate: 10000000\n",
                           "QPS w/o loadgen overhead        : 100.00\n",
                           "99.90 percentile latency (ns)   : 10000000\n",
                           "min_duration (ms): 600000\n",
                           "No errors encountered during test.\n"}) {
    EXPECT_THAT(single.summary, HasSubstr(line));
  }
  const LoggedRun server = run(asked(RequestedLoad::Scenario::kServer), steadily(20ms));
  EXPECT_THAT(server.summary, HasSubstr("Completed samples per second    : "));
  EXPECT_THAT(server.summary, HasSubstr("Result is : INVALID\n"));
  EXPECT_THAT(server.summary, HasSubstr("  Performance constraints satisfied : NO\n"));
  EXPECT_THAT(server.summary, HasSubstr("Recommendations:\n * the 99 % latency is 20"));
  EXPECT_THAT(server.summary, HasSubstr("target_qps : 100\ntarget_latency (ns): 15000000\n"));
  const LoggedRun offline = run(asked(RequestedLoad::Scenario::kOffline), steadily(1000s));
  EXPECT_THAT(offline.summary, HasSubstr("Samples per second: 24.576\n"));
  EXPECT_THAT(run(asked(RequestedLoad::Scenario::kMultiStream), steadily(10ms)).summary,
              HasSubstr("Per-query latency:\nMin latency (ns)                : 10000000\n"));
}

TEST(MlperfLog, every_log_says_that_nobody_verified_it) {
  const LoggedRun done = run(asked(RequestedLoad::Scenario::kOffline), steadily(1000s));
  for (const std::string* text : {&done.summary, &done.text}) {
    EXPECT_THAT(*text, HasSubstr("Unverified"));
    EXPECT_THAT(*text, HasSubstr("not reviewed by MLCommons"));
    EXPECT_THAT(*text, HasSubstr("Result not verified by MLCommons Association"));
  }
  EXPECT_THAT(done.detail.values.at("loadgen_version").get<std::string>(),
              HasSubstr("not LoadGen"));
}

/// Answers with two bytes that name the sample.
class BytesSystem final : public SystemUnderTest {
 public:
  [[nodiscard]] std::string describe() const override { return "bytes"; }
  void start(std::shared_ptr<Completions> completions) override {
    answers_ = std::move(completions);
  }
  void issue(std::span<const SystemUnderTest::Sample> samples) override {
    for (const SystemUnderTest::Sample& sample : samples) {
      const std::array<std::byte, 2> data{std::byte(sample.index), std::byte{0xAF}};
      answers_->complete(std::vector<Completions::Response>{{sample.id, data}});
    }
  }
  void flush() override {}

 private:
  std::shared_ptr<Completions> answers_;
};

TEST(MlperfLog, accuracy_log_holds_every_response_in_hex) {
  fake::ScriptedSystem::Clock clock;
  BytesSystem system;
  RequestedLoad load;
  load.mode = RequestedLoad::Mode::kAccuracy;
  load.total_samples = 30;
  std::ostringstream out;
  MlperfAccuracyLog log(out);
  const LoadResult result = run_load(resolve_load(load), system, clock, &log);
  log.finish();
  const auto parsed = nlohmann::json::parse(out.str());
  ASSERT_EQ(parsed.size(), 30U);
  EXPECT_EQ(parsed[27], (nlohmann::json{{"seq_id", 27}, {"qsl_idx", 27}, {"data", "1BAF"}}));
  std::ostringstream summary;
  write_mlperf_summary(summary, result);
  EXPECT_THAT(summary.str(), HasSubstr("Mode     : AccuracyOnly"));
  EXPECT_THAT(summary.str(), Not(HasSubstr("Result is")));
}

TEST(MlperfLog, accuracy_log_of_a_performance_run_is_an_empty_array) {
  std::ostringstream out;
  MlperfAccuracyLog(out).finish();
  EXPECT_EQ(nlohmann::json::parse(out.str()), nlohmann::json::array());
}

}  // namespace
}  // namespace plumb::loadgen
