// SPDX-License-Identifier: Apache-2.0
#include "reporting/prometheus/metric_families.hpp"

#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

#include <set>

#include "reporting/prometheus/suite_metrics.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<prometheus::MetricFamily> families_of(const std::vector<SuiteMetrics>& suites) {
  std::vector<prometheus::MetricFamily> families;
  metric_families(
      suites, [&](prometheus::MetricFamily&& family) { families.push_back(std::move(family)); });
  return families;
}

/// Returns the lines of an exposition without `# HELP` and `# TYPE`.
std::vector<std::string> lines_of(const std::vector<SuiteMetrics>& suites) {
  std::istringstream text(prometheus::TextSerializer().Serialize(families_of(suites)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with('#')) {
      lines.push_back(line);
    }
  }
  return lines;
}

const std::string kModel =
    R"({model="tiny",batch="1",dtype="f32",backend="fake",device="Sample CPU",stack="default",system=")";

std::string line(const std::string& name, const std::string& labels, const std::string& value) {
  return name + kModel + suite_of(sample_report()).series.system + "\"," + labels + "} " + value;
}

TEST(MetricFamilies, a_model_has_its_latency_bounds_and_ratios) {
  const auto lines = lines_of({suite_of(sample_report())});
  EXPECT_THAT(lines,
              Contains(line("plumb_model_latency_seconds",
                            R"(mode="plain",scenario="single_stream",stat="median")",
                            "0.005")));
  EXPECT_THAT(
      lines,
      Contains(line(
          "plumb_model_bound_seconds", R"(mode="any",kind="hardware",stat="value")", "0.00025")));
  EXPECT_THAT(lines,
              Contains(line("plumb_model_bound_complete", R"(mode="fusion",kind="library")", "1")));
  EXPECT_THAT(
      lines,
      Contains(
          line("plumb_model_normalized_bound_ratio", R"(mode="plain",kind="hardware")", "0.05")));
  EXPECT_THAT(lines,
              Contains(line("plumb_model_bound_violated", R"(mode="plain",kind="library")", "0")));
  EXPECT_THAT(lines, Contains(line("plumb_model_layers", R"(state="measured")", "4")));
  EXPECT_THAT(
      lines,
      Contains(line(
          "plumb_whatif_speedup_ratio", R"(whatif="best_variant",result="predicted")", "1.25")));
}

TEST(MetricFamilies, a_model_has_its_times_among_other_shapes) {
  analysis::RunReport report = sample_report();
  std::vector<analysis::ExecutionTime>& alternations = report.models[0].bounds.alternations;
  alternations.assign(3, report.models[0].bounds.executions[0]);
  alternations[0].turn = results::SeriesName::Turn::kFirst;
  alternations[0].samples = 1;
  alternations[1].turn = results::SeriesName::Turn::kChanged;
  alternations[2].turn = results::SeriesName::Turn::kFirst;
  alternations[2].mode = "fusion";
  alternations[2].samples = 0;
  const std::string name = "plumb_model_alternation_seconds";
  std::vector<std::string> lines = lines_of({suite_of(report)});
  std::erase_if(lines, [&](const std::string& each) { return !each.starts_with(name); });
  EXPECT_THAT(lines,
              ::testing::UnorderedElementsAre(
                  line(name, R"(mode="plain",turn="first",stat="median")", "0.005"),
                  line(name, R"(mode="plain",turn="changed",stat="median")", "0.005"),
                  ::testing::StartsWith(name + kModel + suite_of(report).series.system +
                                        R"(",mode="plain",turn="changed",stat="low"} 0.004)"),
                  ::testing::StartsWith(name + kModel + suite_of(report).series.system +
                                        R"(",mode="plain",turn="changed",stat="high"} 0.005)")))
      << "one time has no interval, and none has no value";
}

TEST(MetricFamilies, a_run_of_models_alone_says_nothing_of_complete_models) {
  const auto counted = Contains(HasSubstr("plumb_run_models{"));
  analysis::RunReport report = sample_report();
  report.rows.clear();  // as `run --only models` leaves it
  EXPECT_THAT(lines_of({suite_of(report)}), Not(counted));
  EXPECT_THAT(lines_of({suite_of(report)}), Contains(HasSubstr("plumb_model_latency_seconds{")));
  report.rows.emplace_back().measurement = test::row({"v1:relu"}, 1.0, "a");
  EXPECT_THAT(lines_of({suite_of(report)}), counted);
}

TEST(MetricFamilies, what_a_suite_excludes_is_named_and_not_counted) {
  analysis::RunReport report = sample_report();
  report.rows.clear();
  report.exclusions = {{"tiny|*", "known", "", "2999-01-31"},
                       {"v1:gone*", "known too", "", "2999-01-31"},
                       {"v1:old*", "forgotten", "", "2000-01-31"}};
  for (const char* const key : {"v1:gone", "v1:old"}) {
    report.rows.emplace_back().measurement = test::row({key}, 1.0, "a");
  }
  const auto lines = lines_of({suite_of(report)});
  EXPECT_THAT(lines, Contains(HasSubstr(R"(case="tiny|*",reason="known",until="2999-01-31"} 1)")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("forgotten")))) << "it has expired";
  EXPECT_THAT(lines,
              Contains(AllOf(HasSubstr("plumb_run_models{"), HasSubstr(R"(state="complete"} 0)"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("plumb_run_rows{"), HasSubstr(R"("ok"} 1)"))));
}

TEST(MetricFamilies, an_imported_benchmark_has_its_time) {
  analysis::RunReport report = sample_report();
  report.models.clear();
  report.rows.clear();
  const auto timed = [](const model::LayerKey& key, const std::string& variant, double seconds) {
    results::Measurement row = test::row(key, seconds * 1e6, variant);
    row.floor = Seconds(0.0);
    return row;
  };
  results::Measurement once = timed({"external:mine:once"}, "external", 3.0);
  once.summary.n = 1;
  for (const results::Measurement& row :
       {timed({"external:mine:sum/8"}, "external", 1.0),
        once,
        timed(test::key(8), "external;benchmark=CONV/1", 2.0),
        test::failure({"external:mine:bad"}, results::Outcome::Kind::kSkipped, "")}) {
    report.rows.push_back({.row = static_cast<results::RowId>(report.rows.size() + 1),
                           .run = report.run.header.id,
                           .reused = false,
                           .measurement = row});
  }
  const auto lines = lines_of({suite_of(report)});
  EXPECT_THAT(lines,
              Contains(AllOf(HasSubstr("plumb_benchmark_seconds{suite="),
                             HasSubstr(R"(benchmark="sum/8",stat="median"} 1)"))));
  EXPECT_THAT(lines, Contains(HasSubstr(R"(benchmark="sum/8",stat="low"})")));
  EXPECT_THAT(lines, Contains(HasSubstr(R"(benchmark="CONV/1",stat="median"} 2)")));
  EXPECT_THAT(lines, Contains(HasSubstr(R"(benchmark="once",stat="median"})")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr(R"(benchmark="once",stat="low"})"))))
      << "one sample has no interval";
  EXPECT_THAT(lines, Not(Contains(HasSubstr(R"(benchmark="bad")"))));
  for (const char* const state :
       {R"(state="timed"} 3)", R"(state="failed"} 1)", R"(state="left_out"} 0)"}) {
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("plumb_run_benchmarks{"), HasSubstr(state))));
  }
}

TEST(MetricFamilies, a_device_is_called_by_the_name_that_its_worker_gives) {
  analysis::RunReport report = sample_report();
  report.run.header.environment.identity["gpu"] = "A GPU";
  EXPECT_THAT(lines_of({suite_of(report)}), Contains(HasSubstr(R"(device="A GPU")")));
  EXPECT_THAT(lines_of({suite_of(report)}), Not(Contains(HasSubstr("Sample CPU"))));
}

results::StoredMeasurement observed_row(const results::Readings& readings) {
  results::StoredMeasurement row;
  row.measurement = test::row({"v1:relu"}, 1.0, "a");
  row.measurement.readings = readings;
  return row;
}

TEST(MetricFamilies, readings_of_rows_and_executions_describe_the_run) {
  analysis::RunReport report = sample_report();
  report.rows = {observed_row({{"temperature_celsius", {60.0, 58.0, 62.0, 3}},
                               {"throttled_ratio", {0.0, 0.0, 0.0, 3}}}),
                 observed_row({{"temperature_celsius", {80.0, 79.0, 81.0, 1}},
                               {"throttled_ratio", {1.0, 1.0, 1.0, 1}},
                               {"throttled.hardware_thermal_ratio", {1.0, 1.0, 1.0, 1}}})};
  report.models[0].bounds.executions[0].readings = {{"power_watts", {300.0, 290.0, 310.0, 4}},
                                                    {"energy_joules", {0.5, 0.4, 0.6, 5}},
                                                    {"resident_bytes", {5120, 5120, 5120, 1}}};
  const auto lines = lines_of({suite_of(report)});
  const auto has = [&](const std::string& name, const std::string& end) {
    return testing::Matches(
        Contains(AllOf(testing::StartsWith(name + "{"), testing::EndsWith(end))))(lines);
  };
  EXPECT_TRUE(has("plumb_run_temperature_celsius", R"(stat="mean"} 65)"));
  EXPECT_TRUE(has("plumb_run_temperature_celsius", R"(stat="low"} 58)"));
  EXPECT_TRUE(has("plumb_run_temperature_celsius", R"(stat="high"} 81)"));
  EXPECT_TRUE(has("plumb_run_power_watts", R"(stat="mean"} 300)"));
  EXPECT_TRUE(has("plumb_run_throttled", "} 1"));
  EXPECT_TRUE(has("plumb_run_throttled_ratio", R"(reason="hardware_thermal"} 0.25)"));
  EXPECT_THAT(lines,
              Contains(line("plumb_model_energy_joules",
                            R"(mode="plain",scenario="single_stream",stat="median")",
                            "0.5")));
  EXPECT_THAT(lines,
              Contains(line(
                  "plumb_model_memory_bytes", R"(mode="plain",scenario="single_stream")", "4096")));
  EXPECT_THAT(
      lines,
      Contains(
          line("plumb_model_resident_bytes", R"(mode="plain",scenario="single_stream")", "5120")));
}

TEST(MetricFamilies, not_throttled_is_zero_and_not_known_is_nothing) {
  analysis::RunReport report = sample_report();
  report.rows = {observed_row({{"throttled_ratio", {0.0, 0.0, 0.0, 3}}})};
  EXPECT_THAT(lines_of({suite_of(report)}),
              Contains(AllOf(HasSubstr("plumb_run_throttled{"), testing::EndsWith("} 0"))));
  report.rows = {observed_row({{"temperature_celsius", {60.0, 58.0, 62.0, 3}}})};
  EXPECT_THAT(lines_of({suite_of(report)}), Not(Contains(HasSubstr("plumb_run_throttled"))));
  report.rows = {observed_row({{"throttled_ratio", {1.0, 1.0, 1.0, 3}}})};
  report.rows[0].reused = true;
  EXPECT_THAT(lines_of({suite_of(report)}), Not(Contains(HasSubstr("plumb_run_throttled"))))
      << "another run was throttled";
}

results::ScenarioResult sample_load(loadgen::ScenarioName scenario) {
  results::ScenarioResult load;
  load.mode = "plain";
  load.scenario = scenario;
  load.requested.scenario = loadgen::load_scenario(scenario);
  load.result.emplace();
  load.result->load.scenario = load.requested.scenario;
  load.result->query_latency.count = 100;
  for (std::size_t i = 0; i < load.result->query_latency.percentiles.size(); ++i) {
    load.result->query_latency.percentiles.at(i) = std::chrono::milliseconds(i + 1);
  }
  load.result->queries_per_second = 200.0;
  load.result->samples_per_second = 400.0;
  load.memory = Bytes{8192};
  return load;
}

TEST(MetricFamilies, loads_have_their_verdict_latencies_and_rates) {
  analysis::RunReport report = sample_report();
  results::ScenarioResult offline = sample_load(loadgen::ScenarioName::kOffline);
  results::ScenarioResult server = sample_load(loadgen::ScenarioName::kServer);
  server.result->load.latency_limit = std::chrono::milliseconds(15);
  server.result->shortfalls = {
      {loadgen::LoadResult::Shortfall::Kind::kLatency, 0.015, 0.02, "too slow"}};
  results::ScenarioResult refused;
  refused.mode = "plain";
  refused.scenario = loadgen::ScenarioName::kMultiStream;
  refused.outcome = {results::Outcome::Kind::kUnsupported, "no"};
  report.models[0].bounds.loads = {offline, server, refused};
  const auto lines = lines_of({suite_of(report)});
  const std::string of_offline = R"(mode="plain",scenario="offline")";
  const std::string of_server = R"(mode="plain",scenario="server")";
  EXPECT_THAT(lines, Contains(line("plumb_load_state", of_offline + R"(,state="valid")", "1")));
  EXPECT_THAT(lines, Contains(line("plumb_load_state", of_server + R"(,state="valid")", "0")));
  EXPECT_THAT(lines, Contains(line("plumb_load_state", of_server + R"(,state="failed")", "1")));
  EXPECT_THAT(lines,
              Contains(line("plumb_load_state",
                            R"(mode="plain",scenario="multi_stream",state="not_executed")",
                            "1")));
  EXPECT_THAT(
      lines,
      Contains(line("plumb_load_latency_seconds", of_server + R"(,stat="median")", "0.001")));
  EXPECT_THAT(
      lines, Contains(line("plumb_load_latency_seconds", of_server + R"(,stat="p99.9")", "0.006")));
  EXPECT_THAT(lines, Contains(line("plumb_load_latency_limit_seconds", of_server, "0.015")));
  EXPECT_THAT(lines, Contains(line("plumb_load_queries_per_second", of_offline, "200")));
  EXPECT_THAT(lines, Contains(line("plumb_load_samples_per_second", of_offline, "400")));
  EXPECT_THAT(lines, Contains(line("plumb_load_score_per_second", of_offline, "400")));
  EXPECT_THAT(lines, Contains(line("plumb_load_memory_bytes", of_offline, "8192")));
  EXPECT_THAT(lines, Not(Contains(AllOf(HasSubstr("plumb_load_score"), HasSubstr(of_server)))))
      << "an invalid load has no score";
  EXPECT_THAT(lines,
              Not(Contains(AllOf(HasSubstr("seconds{"), HasSubstr("scenario=\"multi_stream\"")))));
}

TEST(MetricFamilies, an_incomplete_bound_has_no_value) {
  analysis::RunReport report = sample_report();
  report.models[0].bounds.bounds[2].complete = false;
  const auto lines = lines_of({suite_of(report)});
  EXPECT_THAT(lines,
              Contains(line("plumb_model_bound_complete", R"(mode="fusion",kind="library")", "0")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr(R"(mode="fusion",kind="library",stat="value")"))));
}

TEST(MetricFamilies, a_regression_is_a_set_of_states_of_which_one_is_set) {
  SuiteMetrics suite = suite_of(sample_report());
  suite.regressions = {
      {{"tiny", 1, "f32"}, "latency", "plain", analysis::ModelRegression::State::kSuspected, 1.25}};
  int set = 0;
  int states = 0;
  for (const std::string& each : lines_of({suite})) {
    if (each.starts_with("plumb_regression_state{")) {
      ++states;
      set += each.ends_with("} 1") ? 1 : 0;
      EXPECT_EQ(each.ends_with("} 1"), each.find("\"suspected\"") != std::string::npos) << each;
    }
  }
  EXPECT_EQ(states, 7);
  EXPECT_EQ(set, 1);
  EXPECT_THAT(lines_of({suite}),
              Contains(line("plumb_regression_ratio", R"(mode="plain",metric="latency")", "1.25")));
}

TEST(MetricFamilies, of_two_suites_with_one_model_the_newer_run_counts) {
  analysis::RunReport later = sample_report();
  later.run.header.suite = "other";
  later.run.header.started += std::chrono::hours(1);
  later.models[0].bounds.executions[0].median = Seconds(0.004);
  for (const auto& order : {std::vector{suite_of(sample_report()), suite_of(later)},
                            std::vector{suite_of(later), suite_of(sample_report())}}) {
    const auto lines = lines_of(order);
    EXPECT_EQ(std::count_if(lines.begin(),
                            lines.end(),
                            [](const auto& each) {
                              return each.find("stat=\"median\"") != std::string::npos;
                            }),
              1);
    EXPECT_THAT(lines,
                Contains(line("plumb_model_latency_seconds",
                              R"(mode="plain",scenario="single_stream",stat="median")",
                              "0.004")));
    EXPECT_THAT(lines, Contains(HasSubstr("plumb_run_info{suite=\"other\"")));
    EXPECT_THAT(lines, Contains(HasSubstr("plumb_run_info{suite=\"sample\"")));
  }
}

TEST(MetricFamilies, no_series_occurs_twice_and_no_run_id_is_a_label) {
  analysis::RunReport later = sample_report();
  later.run.header.suite = "other";
  const auto lines = lines_of({suite_of(sample_report()), suite_of(later)});
  std::set<std::string> seen;
  for (const std::string& each : lines) {
    EXPECT_TRUE(seen.insert(each.substr(0, each.rfind(' '))).second) << each;
    EXPECT_EQ(each.find(later.run.header.id), std::string::npos) << each;
  }
}

TEST(MetricFamilies, hostile_names_stay_inside_their_quotes) {
  const std::string text =
      prometheus::TextSerializer().Serialize(families_of({suite_of(hostile_report())}));
  EXPECT_TRUE(is_clean_utf8(text));
  EXPECT_THAT(text, HasSubstr(R"(</script>)"));
  EXPECT_THAT(text, HasSubstr(R"(\\@all)"));
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each);) {
    EXPECT_TRUE(each.starts_with("# ") || each.starts_with("plumb_")) << each;
  }
}

TEST(MetricFamilies, names_that_become_one_label_are_one_series) {
  analysis::RunReport report = sample_report();
  report.run.header.suite = "a\nb";
  report.models[0].graph.layers[0].onnx_op = "x\ny";
  report.models[0].graph.layers[1].onnx_op = "x?y";
  RunMetrics metrics = run_metrics(report, 2);
  metrics.times[0].operators = {{"plain", "x\ny", Seconds(1)}, {"plain", "x?y", Seconds(2)}};
  SuiteMetrics one = suite_of(report);
  one.newest = std::make_shared<const RunMetrics>(std::move(metrics));
  SuiteMetrics other = one;
  other.series.suite = "a?b";
  const auto lines = lines_of({one, other});
  std::set<std::string> seen;
  for (const std::string& each : lines) {
    EXPECT_TRUE(seen.insert(each.substr(0, each.rfind(' '))).second) << each;
  }
  EXPECT_THAT(lines, Contains(testing::EndsWith(R"(operator="x?y"} 3)")));
}

TEST(MetricFamilies, a_series_that_never_finished_says_only_since_when) {
  SuiteMetrics suite = suite_of(sample_report());
  suite.newest.reset();
  suite.unfinished = parse_timestamp("2026-01-02T00:00:00Z");
  const auto lines = lines_of({suite});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("plumb_run_unfinished_timestamp_seconds{suite=\"sample\""));
  EXPECT_THAT(lines[0], HasSubstr("} 1767312000"));
}

TEST(MetricFamilies, rows_are_counted_by_outcome) {
  analysis::RunReport report = sample_report();
  results::StoredMeasurement row;
  row.measurement.outcome = {results::Outcome::Kind::kCrashed, "signal 11"};
  report.rows = {row, row};
  row.measurement.outcome = {};
  row.measurement.disturbance.disturbed = true;
  report.rows.push_back(row);
  row.reused = true;
  report.rows.push_back(row);
  const auto lines = lines_of({suite_of(report)});
  EXPECT_THAT(lines, Contains(testing::EndsWith(R"(outcome="crashed"} 2)")));
  EXPECT_THAT(lines, Contains(testing::EndsWith(R"(outcome="ok"} 1)")));
  EXPECT_THAT(lines, Contains(testing::EndsWith(R"(outcome="reused"} 1)")));
  EXPECT_THAT(lines, Contains(testing::ContainsRegex("plumb_run_disturbed_ratio.* 1$")));
}

TEST(MetricFamilies, health_says_what_is_known) {
  StoreHealth health;
  health.version = "1.2.3";
  const std::string text = prometheus::TextSerializer().Serialize(health_families(health));
  EXPECT_THAT(text, HasSubstr("plumb_build_info{version=\"1.2.3\"} 1"));
  EXPECT_THAT(text, HasSubstr("plumb_store_up 0"));
  EXPECT_THAT(text, Not(HasSubstr("last_success")));
}

TEST(LabelText, long_text_is_cut_between_characters_and_stays_distinct) {
  const std::string long_name(10'000, 'x');
  const std::string cut = label_text(long_name);
  EXPECT_EQ(cut.size(), kLabelBytes);
  EXPECT_NE(cut, label_text(long_name + "y"));
  std::string umlauts;
  for (int i = 0; i < 100; ++i) {
    umlauts += "ü";
  }
  for (const std::size_t most : {16U, 17U, 18U, 19U}) {
    EXPECT_TRUE(is_clean_utf8(label_text(umlauts, most)));
    EXPECT_LE(label_text(umlauts, most).size(), most);
  }
  EXPECT_EQ(label_text("a\nb"), "a?b");
}

}  // namespace
}  // namespace plumb::reporting
