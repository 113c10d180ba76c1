// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/cli/baseline_check.hpp"

namespace plumb::cli {
namespace {

results::ScenarioResult load_with(std::vector<loadgen::LoadResult::Shortfall> shortfalls) {
  results::ScenarioResult load;
  load.mode = "plain";
  load.scenario = loadgen::ScenarioName::kSingleStream;
  load.result = loadgen::LoadResult{};
  load.result->shortfalls = std::move(shortfalls);
  return load;
}

results::ScenarioResult refused(results::Outcome::Kind kind) {
  results::ScenarioResult load;
  load.mode = "plain";
  load.scenario = loadgen::ScenarioName::kOffline;
  load.outcome = {kind, "it cannot"};
  return load;
}

using Kind = loadgen::LoadResult::Shortfall::Kind;

TEST(ModelLoads, an_invalid_load_reaches_the_exit_status) {
  EXPECT_EQ(compute_exit_status({}), 0);
  EXPECT_EQ(compute_exit_status({{"a", {load_with({})}}}), 0);
  EXPECT_EQ(compute_exit_status({{"a", {load_with({{Kind::kDuration, 600, 2, ""}})}}}), 75);
  EXPECT_EQ(compute_exit_status({{"a", {load_with({{Kind::kLatency, 0.1, 0.2, ""}})}}}), 1);
  EXPECT_EQ(compute_exit_status({{"a", {load_with({{Kind::kFailed, 0, 1, ""}})}}}), 1);
  EXPECT_EQ(compute_exit_status({{"a", {refused(results::Outcome::Kind::kUnsupported)}}}), 3);
  EXPECT_EQ(compute_exit_status({{"a", {refused(results::Outcome::Kind::kCrashed)}}}), 1);
}

TEST(ModelLoads, the_worst_of_all_models_counts_and_the_newest_of_each) {
  const results::ScenarioResult valid = load_with({});
  const results::ScenarioResult brief = load_with({{Kind::kDuration, 600, 2, ""}});
  const results::ScenarioResult late = load_with({{Kind::kLatency, 0.1, 0.2, ""}});
  EXPECT_EQ(compute_exit_status({{"a", {valid}}, {"b", {brief}}}), 75);
  EXPECT_EQ(compute_exit_status({{"a", {late}}, {"b", {brief}}}), 1);
  EXPECT_EQ(compute_exit_status({{"a", {brief, refused(results::Outcome::Kind::kUnsupported)}}}),
            3);
  results::ScenarioResult again = valid;
  again.started = brief.started + std::chrono::seconds(1);
  EXPECT_EQ(compute_exit_status({{"a", {brief, again}}}), 0) << "a resumed run made it good";
}

}  // namespace
}  // namespace plumb::cli
