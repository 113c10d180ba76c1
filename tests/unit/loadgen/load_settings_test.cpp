// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/load_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "harness/base/error.hpp"

namespace plumb::loadgen {
namespace {

using namespace std::chrono_literals;

RequestedLoad asked(RequestedLoad::Scenario scenario) {
  RequestedLoad load;
  load.scenario = scenario;
  load.total_samples = 50;
  if (scenario == RequestedLoad::Scenario::kServer) {
    load.latency_limit = Seconds(0.015);
  }
  return load;
}

TEST(LoadSettings, defaults_are_mlperfs) {
  const EffectiveLoad single = resolve_load(asked(RequestedLoad::Scenario::kSingleStream));
  EXPECT_EQ(single.minimum_duration, 600s);
  EXPECT_EQ(single.minimum_queries, 100U);
  EXPECT_EQ(single.rule.percentile, 90.0);
  EXPECT_EQ(single.samples_per_query, 1U);
  const EffectiveLoad multi = resolve_load(asked(RequestedLoad::Scenario::kMultiStream));
  EXPECT_EQ(multi.minimum_queries, 662U);
  EXPECT_EQ(multi.samples_per_query, 8U);
  EXPECT_EQ(multi.rule.percentile, 99.0);
  const EffectiveLoad server = resolve_load(asked(RequestedLoad::Scenario::kServer));
  EXPECT_EQ(server.latency_limit, 15ms);
  EXPECT_EQ(server.target_rate, std::nullopt);
  const EffectiveLoad offline = resolve_load(asked(RequestedLoad::Scenario::kOffline));
  EXPECT_EQ(offline.samples_per_query, 24'576U);
  EXPECT_EQ(offline.minimum_queries, 1U);
}

TEST(LoadSettings, expected_rate_sizes_offlines_query) {
  RequestedLoad load = asked(RequestedLoad::Scenario::kOffline);
  load.expected_rate = 1000.0;
  EXPECT_EQ(resolve_load(load).samples_per_query, 660'000U);
  load.expected_rate = 1.0;
  EXPECT_EQ(resolve_load(load).samples_per_query, 24'576U);
}

TEST(LoadSettings, fixed_duration_asks_for_no_count) {
  RequestedLoad load = asked(RequestedLoad::Scenario::kOffline);
  load.fixed_duration = Seconds(2.0);
  const EffectiveLoad offline = resolve_load(load);
  EXPECT_TRUE(offline.fixed_duration);
  EXPECT_EQ(offline.minimum_duration, 2s);
  EXPECT_EQ(offline.samples_per_query, 50U);
  load.scenario = RequestedLoad::Scenario::kMultiStream;
  EXPECT_EQ(resolve_load(load).minimum_queries, 1U);
}

TEST(LoadSettings, names_are_read_back) {
  for (const auto scenario : {RequestedLoad::Scenario::kSingleStream,
                              RequestedLoad::Scenario::kMultiStream,
                              RequestedLoad::Scenario::kServer,
                              RequestedLoad::Scenario::kOffline}) {
    EXPECT_EQ(parse_load_scenario(to_text(scenario)), scenario);
  }
  EXPECT_EQ(parse_load_scenario("Server"), std::nullopt);
}

TEST(LoadSettings, refuses_what_cannot_run_and_says_why) {
  struct Case {
    const char* text;
    RequestedLoad::Scenario scenario;
    std::function<void(RequestedLoad&)> spoil;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Case> cases{
      {"needs a latency limit",
       RequestedLoad::Scenario::kServer,
       [](auto& l) { l.latency_limit.reset(); }},
      {"has no target rate",
       RequestedLoad::Scenario::kOffline,
       [](auto& l) { l.target_rate = 3.0; }},
      {"target rate is 0", RequestedLoad::Scenario::kServer, [](auto& l) { l.target_rate = 0.0; }},
      {"target rate is nan",
       RequestedLoad::Scenario::kServer,
       [&](auto& l) { l.target_rate = nan; }},
      {"needs no expected rate",
       RequestedLoad::Scenario::kServer,
       [](auto& l) { l.expected_rate = 3.0; }},
      {"no latency limit",
       RequestedLoad::Scenario::kOffline,
       [](auto& l) { l.latency_limit = Seconds(1); }},
      {"percentile is 100",
       RequestedLoad::Scenario::kServer,
       [](auto& l) { l.percentile = 100.0; }},
      {"percentile is nan", RequestedLoad::Scenario::kServer, [&](auto& l) { l.percentile = nan; }},
      {"minimum duration is -1",
       RequestedLoad::Scenario::kServer,
       [](auto& l) { l.minimum_duration = Seconds(-1); }},
      {"maximum duration is inf",
       RequestedLoad::Scenario::kServer,
       [](auto& l) { l.maximum_duration = Seconds(INFINITY); }},
      {"1 sample a query, not 8",
       RequestedLoad::Scenario::kServer,
       [](auto& l) { l.samples_per_query = 8; }},
      {"0 samples in a query",
       RequestedLoad::Scenario::kMultiStream,
       [](auto& l) { l.samples_per_query = 0; }},
      {"samples in a query",
       RequestedLoad::Scenario::kOffline,
       [](auto& l) { l.expected_rate = 1e9; }},
      {"one query", RequestedLoad::Scenario::kOffline, [](auto& l) { l.minimum_queries = 2; }},
      {"51 of 50 samples",
       RequestedLoad::Scenario::kOffline,
       [](auto& l) { l.loaded_samples = 51; }},
      {"0 of 0 samples", RequestedLoad::Scenario::kOffline, [](auto& l) { l.total_samples = 0; }},
      {"fixed duration ends the run",
       RequestedLoad::Scenario::kSingleStream,
       [](auto& l) {
         l.fixed_duration = Seconds(1);
         l.minimum_queries = 3;
       }},
  };
  for (const Case& c : cases) {
    RequestedLoad load = asked(c.scenario);
    c.spoil(load);
    try {
      static_cast<void>(resolve_load(load));
      ADD_FAILURE() << "was accepted: " << c.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      EXPECT_THAT(error.what(), testing::HasSubstr(c.text));
    }
  }
}

}  // namespace
}  // namespace plumb::loadgen
