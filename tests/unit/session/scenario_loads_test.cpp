// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/scenario_loads.hpp"

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

TEST(ScenarioLoads, take_mlperfs_values_where_nothing_is_said) {
  const RequestedLoad load = load_of(scenario("single_stream")).value();
  EXPECT_EQ(load.fixed_duration, std::nullopt);
  EXPECT_EQ(resolve_load(load).minimum_duration, std::chrono::minutes(10));
  EXPECT_EQ(load.warm_up, Seconds(1.0));
  EXPECT_EQ(load.seeds.data_set, 2085463073848966840U) << "MLPerf's, of round v6.1";
  EXPECT_EQ(load.seeds.samples, 2747215439041700203U);
  EXPECT_EQ(load.seeds.schedule, 16159082839903944936U);
}

TEST(ScenarioLoads, leave_limits_on_tokens_alone) {
  Scenario interactive = scenario("interactive");
  interactive.limits.first_token = Seconds(0.5);
  EXPECT_FALSE(load_of(interactive));
  interactive.limits.latency = Seconds(1.0);
  EXPECT_EQ(load_of(interactive).value().scenario, LoadScenario::kServer);
}

TEST(ScenarioLoads, prepare_the_batches_that_a_scenario_can_make) {
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

TEST(ScenarioLoads, check_a_suite_before_anything_is_measured) {
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
