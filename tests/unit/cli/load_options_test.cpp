// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/session/run/suite_run.hpp"

namespace plumb::cli {
namespace {

using testing::HasSubstr;

suite::ResolvedSuite suite_with(std::vector<suite::Scenario> scenarios) {
  suite::ResolvedSuite suite;
  suite.models.push_back(
      {.name = "lenet", .path = {}, .dims = {}, .scenarios = std::move(scenarios), .note = ""});
  return suite;
}

suite::Scenario scenario(loadgen::ScenarioName name) {
  suite::Scenario made{name, {}, {}};
  made.limits.percentile = suite::standard_percentile(name);
  return made;
}

TEST(LoadOptions, replace_the_suites_scenarios_but_keep_their_limits) {
  suite::Scenario server = scenario(loadgen::ScenarioName::kServer);
  server.limits.latency = Seconds(0.015);
  suite::ResolvedSuite suite = suite_with({server, scenario(loadgen::ScenarioName::kOffline)});
  LoadOptions options;
  options.scenarios = {"server", "single_stream"};
  options.duration = "30s";
  options.maximum_batch = 4;
  options.batch_timeout = "2ms";
  options.target_rate = 50.0;
  apply(options, {}, suite);
  const std::vector<suite::Scenario>& scenarios = suite.models[0].scenarios;
  ASSERT_EQ(scenarios.size(), 2U);
  EXPECT_EQ(scenarios[0].limits.latency, Seconds(0.015));
  EXPECT_EQ(scenarios[0].settings.target_rate, 50.0);
  EXPECT_EQ(scenarios[0].settings.duration, Seconds(30.0));
  EXPECT_EQ(scenarios[1].name, loadgen::ScenarioName::kSingleStream);
  EXPECT_EQ(scenarios[1].limits.percentile, 90.0);
  EXPECT_EQ(scenarios[1].settings.target_rate, std::nullopt) << "only server has one";
  EXPECT_EQ(scenarios[0].settings.maximum_batch, 4);
  EXPECT_EQ(scenarios[0].settings.batch_timeout, Seconds(0.002));
}

TEST(LoadOptions, are_refused_where_they_change_nothing) {
  const auto fault_of = [](const LoadOptions& options,
                           suite::ResolvedSuite suite,
                           const session::SuiteRun::Options& run = {}) -> std::string {
    try {
      apply(options, run, suite);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      return error.what();
    }
    return "";
  };
  LoadOptions options;
  options.maximum_batch = 4;
  EXPECT_THAT(fault_of(options, suite_with({})), HasSubstr("'--max-batch' needs a scenario"));
  EXPECT_EQ(fault_of(options, suite_with({scenario(loadgen::ScenarioName::kOffline)})), "");
  options.latency_limit = "15ms";
  EXPECT_THAT(fault_of(options, suite_with({scenario(loadgen::ScenarioName::kOffline)})),
              HasSubstr("'--latency-limit' needs the scenario server"));
  session::SuiteRun::Options submission;
  submission.mlperf_submission = "s";
  EXPECT_THAT(fault_of({}, suite_with({scenario(loadgen::ScenarioName::kOffline)}), submission),
              HasSubstr("give both --mlperf-submission and --mlperf-submitter"));
  submission.mlperf_submitter = "a/b";
  EXPECT_THAT(fault_of({}, suite_with({scenario(loadgen::ScenarioName::kOffline)}), submission),
              HasSubstr("'a/b' cannot name a submission's folder"));
  submission.mlperf_submitter = "example.org";
  EXPECT_EQ(fault_of({}, suite_with({scenario(loadgen::ScenarioName::kOffline)}), submission), "");
  EXPECT_THAT(fault_of({}, suite_with({}), submission),
              HasSubstr("'--mlperf-submission' needs a scenario"));
}

}  // namespace
}  // namespace plumb::cli
