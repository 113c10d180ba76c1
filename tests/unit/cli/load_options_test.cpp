// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/load_options.hpp"

#include <gmock/gmock.h>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ResolvedSuite suite_with(std::vector<Scenario> scenarios) {
  ResolvedSuite suite;
  suite.models.push_back(
      {.name = "lenet", .path = {}, .dims = {}, .scenarios = std::move(scenarios), .note = ""});
  return suite;
}

Scenario scenario(const std::string& name) {
  Scenario made{name, {}, {}};
  made.limits.percentile = standard_percentile(name);
  return made;
}

TEST(LoadOptions, replace_the_suites_scenarios_but_keep_their_limits) {
  Scenario server = scenario("server");
  server.limits.latency = Seconds(0.015);
  ResolvedSuite suite = suite_with({server, scenario("offline")});
  LoadOptions options;
  options.scenarios = {"server", "single_stream"};
  options.duration = "30s";
  options.maximum_batch = 4;
  options.batch_timeout = "2ms";
  options.target_rate = 50.0;
  apply(options, suite);
  const std::vector<Scenario>& scenarios = suite.models[0].scenarios;
  ASSERT_EQ(scenarios.size(), 2U);
  EXPECT_EQ(scenarios[0].limits.latency, Seconds(0.015));
  EXPECT_EQ(scenarios[0].settings.target_rate, 50.0);
  EXPECT_EQ(scenarios[0].settings.duration, Seconds(30.0));
  EXPECT_EQ(scenarios[1].name, "single_stream");
  EXPECT_EQ(scenarios[1].limits.percentile, 90.0);
  EXPECT_EQ(scenarios[1].settings.target_rate, std::nullopt) << "only server has one";
  EXPECT_EQ(batches_of(scenarios[0]).maximum_batch, 4U);
  EXPECT_EQ(batches_of(scenarios[0]).timeout, std::chrono::milliseconds(2));
}

TEST(LoadOptions, are_refused_where_they_change_nothing) {
  const auto fault_of = [](const LoadOptions& options, ResolvedSuite suite) -> std::string {
    try {
      apply(options, suite);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      return error.what();
    }
    return "";
  };
  LoadOptions options;
  options.maximum_batch = 4;
  EXPECT_THAT(fault_of(options, suite_with({})), HasSubstr("'--max-batch' needs a scenario"));
  EXPECT_EQ(fault_of(options, suite_with({scenario("offline")})), "");
  options.latency_limit = "15ms";
  EXPECT_THAT(fault_of(options, suite_with({scenario("offline")})),
              HasSubstr("'--latency-limit' needs the scenario server"));
  LoadOptions submission;
  submission.mlperf_submission = "s";
  EXPECT_THAT(fault_of(submission, suite_with({scenario("offline")})),
              HasSubstr("give both --mlperf-submission and --mlperf-submitter"));
  submission.mlperf_submitter = "a/b";
  EXPECT_THAT(fault_of(submission, suite_with({scenario("offline")})),
              HasSubstr("'a/b' names no folder"));
  submission.mlperf_submitter = "example.org";
  EXPECT_EQ(fault_of(submission, suite_with({scenario("offline")})), "");
  EXPECT_THAT(fault_of(submission, suite_with({})),
              HasSubstr("'--mlperf-submission' needs a scenario"));
}

TEST(LoadOptions, take_mlperfs_values_where_nothing_is_said) {
  const RequestedLoad load = load_of(scenario("single_stream")).value();
  EXPECT_EQ(load.fixed_duration, std::nullopt);
  EXPECT_EQ(resolve_load(load).minimum_duration, std::chrono::minutes(10));
  EXPECT_EQ(load.warm_up, Seconds(1.0));
  EXPECT_EQ(load.seeds.data_set, 2085463073848966840U) << "MLPerf's, of round v6.1";
  EXPECT_EQ(load.seeds.samples, 2747215439041700203U);
  EXPECT_EQ(load.seeds.schedule, 16159082839903944936U);
}

TEST(LoadOptions, leave_limits_on_tokens_alone) {
  Scenario interactive = scenario("interactive");
  interactive.limits.first_token = Seconds(0.5);
  EXPECT_FALSE(load_of(interactive));
  interactive.limits.latency = Seconds(1.0);
  EXPECT_EQ(load_of(interactive).value().scenario, LoadScenario::kServer);
}

TEST(LoadOptions, prepare_the_batches_that_a_scenario_can_make) {
  EXPECT_THAT(buckets_of(scenario("single_stream")), ElementsAre(1U));
  EXPECT_THAT(buckets_of(scenario("multi_stream")), ElementsAre(1U, 8U));
  Scenario server = scenario("server");
  EXPECT_THAT(buckets_of(server), ElementsAre(1U));
  server.settings.maximum_batch = 12;
  EXPECT_THAT(buckets_of(server), ElementsAre(1U, 2U, 4U, 8U, 12U));
  Scenario offline = scenario("offline");
  offline.settings.maximum_batch = 16;
  EXPECT_THAT(buckets_of(offline), ElementsAre(1U, 16U));
}

TEST(LoadOptions, check_a_suite_before_anything_is_measured) {
  EXPECT_NO_THROW(check_loads(suite_with({scenario("offline"), scenario("single_stream")})));
  try {
    check_loads(suite_with({scenario("server")}));
    FAIL() << "server has no latency limit";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("model 'lenet', scenario server: server needs a latency limit"));
  }
  Scenario offline = scenario("offline");
  offline.limits.percentile = 99.0;
  EXPECT_THROW(check_loads(suite_with({offline})), Error);
}

}  // namespace
}  // namespace plumb
