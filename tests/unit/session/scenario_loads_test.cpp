// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "harness/session/run/scenario_runs.hpp"

namespace plumb::session {
namespace {

using testing::ElementsAre;
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

TEST(ScenarioLoads, take_mlperfs_values_where_nothing_is_said) {
  const loadgen::RequestedLoad load =
      load_of(scenario(loadgen::ScenarioName::kSingleStream)).value();
  EXPECT_EQ(load.fixed_duration, std::nullopt);
  EXPECT_EQ(loadgen::resolve_load(load).minimum_duration, std::chrono::minutes(10));
  EXPECT_EQ(load.warm_up, Seconds(1.0));
  EXPECT_EQ(load.seeds.data_set, 2085463073848966840U) << "MLPerf's, of round v6.1";
  EXPECT_EQ(load.seeds.samples, 2747215439041700203U);
  EXPECT_EQ(load.seeds.schedule, 16159082839903944936U);
}

TEST(ScenarioLoads, leave_limits_on_tokens_alone) {
  suite::Scenario interactive = scenario(loadgen::ScenarioName::kInteractive);
  interactive.limits.first_token = Seconds(0.5);
  EXPECT_FALSE(load_of(interactive));
  interactive.limits.latency = Seconds(1.0);
  EXPECT_EQ(load_of(interactive).value().scenario, loadgen::RequestedLoad::Scenario::kServer);
}

TEST(ScenarioLoads, prepare_the_batches_that_a_scenario_can_make) {
  EXPECT_THAT(list_buckets(scenario(loadgen::ScenarioName::kSingleStream)), ElementsAre(1U));
  EXPECT_THAT(list_buckets(scenario(loadgen::ScenarioName::kMultiStream)), ElementsAre(1U, 8U));
  suite::Scenario server = scenario(loadgen::ScenarioName::kServer);
  EXPECT_THAT(list_buckets(server), ElementsAre(1U));
  server.settings.maximum_batch = 12;
  EXPECT_THAT(list_buckets(server), ElementsAre(1U, 2U, 4U, 8U, 12U));
  suite::Scenario offline = scenario(loadgen::ScenarioName::kOffline);
  offline.settings.maximum_batch = 16;
  EXPECT_THAT(list_buckets(offline), ElementsAre(1U, 16U));
}

TEST(ScenarioLoads, check_a_suite_before_anything_is_measured) {
  EXPECT_NO_THROW(check_loads(suite_with({scenario(loadgen::ScenarioName::kOffline),
                                          scenario(loadgen::ScenarioName::kSingleStream)})));
  try {
    check_loads(suite_with({scenario(loadgen::ScenarioName::kServer)}));
    FAIL() << "server has no latency limit";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("model 'lenet', scenario server: server needs a latency limit"));
  }
  suite::Scenario offline = scenario(loadgen::ScenarioName::kOffline);
  offline.limits.percentile = 99.0;
  EXPECT_THROW(check_loads(suite_with({offline})), Error);
}

}  // namespace
}  // namespace plumb::session
