// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/gate.hpp"

#include <gmock/gmock.h>

namespace plumb {
namespace {

ScenarioResult load_with(std::vector<Shortfall> shortfalls) {
  ScenarioResult load;
  load.mode = "plain";
  load.scenario = "single_stream";
  load.result = LoadResult{};
  load.result->shortfalls = std::move(shortfalls);
  return load;
}

ScenarioResult refused(Outcome::Kind kind) {
  ScenarioResult load;
  load.mode = "plain";
  load.scenario = "offline";
  load.outcome = {kind, "it cannot"};
  return load;
}

using Kind = Shortfall::Kind;

TEST(ModelLoads, an_invalid_load_reaches_the_exit_status) {
  EXPECT_EQ(exit_status_of({}), 0);
  EXPECT_EQ(exit_status_of({{"a", {load_with({})}}}), 0);
  EXPECT_EQ(exit_status_of({{"a", {load_with({{Kind::kDuration, 600, 2, ""}})}}}), 75);
  EXPECT_EQ(exit_status_of({{"a", {load_with({{Kind::kLatency, 0.1, 0.2, ""}})}}}), 1);
  EXPECT_EQ(exit_status_of({{"a", {load_with({{Kind::kFailed, 0, 1, ""}})}}}), 1);
  EXPECT_EQ(exit_status_of({{"a", {refused(Outcome::Kind::kUnsupported)}}}), 3);
  EXPECT_EQ(exit_status_of({{"a", {refused(Outcome::Kind::kCrashed)}}}), 1);
}

TEST(ModelLoads, the_worst_of_all_models_counts_and_the_newest_of_each) {
  const ScenarioResult valid = load_with({});
  const ScenarioResult brief = load_with({{Kind::kDuration, 600, 2, ""}});
  const ScenarioResult late = load_with({{Kind::kLatency, 0.1, 0.2, ""}});
  EXPECT_EQ(exit_status_of({{"a", {valid}}, {"b", {brief}}}), 75);
  EXPECT_EQ(exit_status_of({{"a", {late}}, {"b", {brief}}}), 1);
  EXPECT_EQ(exit_status_of({{"a", {brief, refused(Outcome::Kind::kUnsupported)}}}), 3);
  ScenarioResult again = valid;
  again.started = brief.started + std::chrono::seconds(1);
  EXPECT_EQ(exit_status_of({{"a", {brief, again}}}), 0) << "a resumed run made it good";
}

}  // namespace
}  // namespace plumb
