// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

using namespace std::chrono_literals;

LoadRequest server_request() {
  LoadRequest request;
  ExecuteRequest model;
  model.name = "lenet";
  model.model = std::string("\x08\x00\xff", 3);
  model.modes[0].mode.fusion = true;
  model.seed = ~std::uint64_t{0};
  request.buckets = {{1, model}, {8, model}};
  request.buckets[1].model.batch = 32;
  request.inputs_per_sample = 4;
  request.load.scenario = loadgen::LoadScenario::kServer;
  request.load.minimum_duration = Seconds(20.0);
  request.load.maximum_duration = Seconds(60.0);
  request.load.minimum_queries = 1000;
  request.load.percentile = 99.9;
  request.load.latency_limit = Seconds(0.015);
  request.load.target_rate = 81.5;
  request.load.warm_up = Seconds(0.5);
  request.load.stall_limit = Seconds(30.0);
  request.load.seeds = loadgen::kMlperfSeeds;
  request.batches = {.maximum_batch = 8, .timeout = 2ms, .lanes = 2};
  request.budget = Seconds(90.0);
  request.data_set = 10833;
  return request;
}

TEST(LoadConversion, carries_a_request) {
  const LoadRequest request = server_request();
  protocol::LoadRequest message;
  ASSERT_TRUE(message.ParseFromString(to_protocol(request).SerializeAsString()));
  const LoadRequest read = from_protocol(message);
  ASSERT_EQ(read.buckets.size(), 2U);
  EXPECT_EQ(read.buckets[1].samples, 8U);
  EXPECT_EQ(read.buckets[1].model.batch, 32);
  EXPECT_EQ(read.buckets[0].model.model, request.buckets[0].model.model);
  EXPECT_EQ(read.buckets[0].model.seed, ~std::uint64_t{0});
  EXPECT_TRUE(read.buckets[1].model.modes.at(0).mode.fusion);
  EXPECT_EQ(read.inputs_per_sample, 4);
  EXPECT_EQ(read.load.scenario, loadgen::LoadScenario::kServer);
  EXPECT_EQ(read.load.minimum_duration, Seconds(20.0));
  EXPECT_EQ(read.load.fixed_duration, std::nullopt);
  EXPECT_EQ(read.load.maximum_duration, Seconds(60.0));
  EXPECT_EQ(read.load.minimum_queries, 1000U);
  EXPECT_EQ(read.load.percentile, 99.9);
  EXPECT_EQ(read.load.latency_limit, Seconds(0.015));
  EXPECT_EQ(read.load.target_rate, 81.5);
  EXPECT_EQ(read.load.warm_up, Seconds(0.5));
  EXPECT_EQ(read.load.stall_limit, Seconds(30.0));
  EXPECT_EQ(read.load.seeds.samples, request.load.seeds.samples);
  EXPECT_EQ(read.load.seeds.schedule, request.load.seeds.schedule);
  EXPECT_EQ(read.load.seeds.data_set, request.load.seeds.data_set);
  EXPECT_EQ(read.batches.maximum_batch, 8U);
  EXPECT_EQ(read.batches.timeout, 2ms);
  EXPECT_EQ(read.batches.lanes, 2U);
  EXPECT_EQ(read.budget, Seconds(90.0));
  EXPECT_EQ(read.data_set, 10833U);
}

TEST(LoadConversion, refuses_requests_that_no_worker_should_follow) {
  const auto refuses = [](auto change) {
    protocol::LoadRequest message = to_protocol(server_request());
    change(message);
    EXPECT_THROW(static_cast<void>(from_protocol(message)), ProtocolError);
  };
  using M = protocol::LoadRequest;
  refuses([](M& m) { m.clear_buckets(); });
  refuses([](M& m) { m.mutable_buckets(0)->set_samples(0); });
  refuses([](M& m) { m.mutable_buckets(0)->set_samples(2); });
  refuses([](M& m) { m.mutable_buckets(1)->set_samples(1); });
  refuses([](M& m) { m.mutable_buckets(1)->set_samples(std::uint64_t{1} << 40U); });
  refuses([](M& m) {
    for (int i = 0; i < 100; ++i) {
      m.add_buckets()->set_samples(static_cast<std::uint64_t>(100 + i));
    }
  });
  refuses([](M& m) { m.set_maximum_batch(9); });
  refuses([](M& m) { m.set_lanes(0); });
  refuses([](M& m) { m.set_lanes(100'000); });
  refuses([](M& m) { m.set_timeout_seconds(-1.0); });
  refuses([](M& m) { m.set_budget_seconds(std::numeric_limits<double>::infinity()); });
  refuses([](M& m) { m.set_data_set_samples(~std::uint64_t{0}); });
  refuses([](M& m) { m.set_inputs_per_sample(0); });
  refuses([](M& m) { m.mutable_load()->set_scenario("rush_hour"); });
  refuses([](M& m) { m.mutable_load()->set_target_rate(std::nan("")); });
  refuses([](M& m) { m.mutable_load()->set_warm_up_seconds(1e300); });
}

TEST(LoadConversion, carries_progress_and_bounds_its_text) {
  LoadProgress progress{"running", 12, Seconds(3.5)};
  const LoadProgress read = from_protocol(to_protocol(progress));
  EXPECT_EQ(read.phase, "running");
  EXPECT_EQ(read.batches, 12U);
  EXPECT_EQ(read.elapsed, Seconds(3.5));
  progress.phase.assign(1'000'000, 'x');
  EXPECT_LE(from_protocol(to_protocol(progress)).phase.size(), 200U);
}

TEST(LoadConversion, carries_an_execution_and_refuses_any_other_text) {
  results::ScenarioResult load;
  load.mode = "plain";
  load.model = "lenet";
  load.scenario = loadgen::ScenarioName::kServer;
  load.outcome = {results::Outcome::Kind::kWrongResult, "nan"};
  load.started = parse_timestamp("2026-01-01T00:00:00Z");
  protocol::ScenarioResult message;
  ASSERT_TRUE(message.ParseFromString(to_protocol(load).SerializeAsString()));
  EXPECT_EQ(to_json(from_protocol(message)), to_json(load));
  for (const char* text : {"", "{}", "[[[[", "\xff\xfe"}) {
    message.set_json(text);
    EXPECT_THROW(static_cast<void>(from_protocol(message)), ProtocolError) << text;
  }
}

}  // namespace
}  // namespace plumb::worker
