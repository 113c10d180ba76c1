// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/loadgen/load_settings.hpp"

namespace plumb::loadgen {
namespace {

TEST(ScenarioName, is_read_as_it_is_written) {
  for (const ScenarioName scenario : kScenarioNames) {
    EXPECT_EQ(parse_scenario_name(to_text(scenario)), scenario);
  }
  EXPECT_EQ(to_text(ScenarioName::kInteractive), "interactive");
  EXPECT_EQ(to_text(ScenarioName::kMultiStream), "multi_stream");
  EXPECT_EQ(parse_scenario_name("Server"), std::nullopt);
  EXPECT_EQ(parse_scenario_name(""), std::nullopt);
}

TEST(ScenarioName, interactive_is_loaded_as_server) {
  EXPECT_EQ(load_scenario(ScenarioName::kInteractive), RequestedLoad::Scenario::kServer);
  for (const RequestedLoad::Scenario load : {RequestedLoad::Scenario::kSingleStream,
                                             RequestedLoad::Scenario::kMultiStream,
                                             RequestedLoad::Scenario::kServer,
                                             RequestedLoad::Scenario::kOffline}) {
    EXPECT_EQ(load_scenario(name_of(load)), load);
  }
}

}  // namespace
}  // namespace plumb::loadgen
