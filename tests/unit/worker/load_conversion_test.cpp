// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/worker/protocol/frame_channel.hpp"
#include "tests/unit/worker/carried_value.hpp"

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
  request.load.scenario = loadgen::RequestedLoad::Scenario::kServer;
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
  const LoadRequest read = carried(request);
  ASSERT_EQ(read.buckets.size(), 2U);
  EXPECT_EQ(read.buckets[1].samples, 8U);
  EXPECT_EQ(read.buckets[1].model.batch, 32);
  EXPECT_EQ(read.buckets[0].model.model, request.buckets[0].model.model);
  EXPECT_EQ(read.buckets[0].model.seed, ~std::uint64_t{0});
  EXPECT_TRUE(read.buckets[1].model.modes.at(0).mode.fusion);
  EXPECT_EQ(read.inputs_per_sample, 4);
  EXPECT_EQ(read.load.scenario, loadgen::RequestedLoad::Scenario::kServer);
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
  using Json = nlohmann::json;
  const auto refuses = [](const auto& change) {
    EXPECT_THROW(static_cast<void>(spoilt(server_request(), change)), FrameChannel::ProtocolError);
  };
  refuses([](Json& m) { m["buckets"].clear(); });
  refuses([](Json& m) { m["buckets"][0]["samples"] = 0; });
  refuses([](Json& m) { m["buckets"][0]["samples"] = 2; });
  refuses([](Json& m) { m["buckets"][1]["samples"] = 1; });
  refuses([](Json& m) { m["buckets"][1]["samples"] = std::uint64_t{1} << 40U; });
  refuses([](Json& m) { m["buckets"].erase(1); });  // a model's bytes are left
  refuses([](Json& m) { m["maximum_batch"] = 9; });
  refuses([](Json& m) { m["maximum_batch"] = 0; });
  refuses([](Json& m) { m["lanes"] = 0; });
  refuses([](Json& m) { m["lanes"] = 100'000; });
  refuses([](Json& m) { m["timeout_seconds"] = -1.0; });
  refuses([](Json& m) { m["budget_seconds"] = 1e300; });
  refuses([](Json& m) { m["data_set_samples"] = ~std::uint64_t{0}; });
  refuses([](Json& m) { m["inputs_per_sample"] = 0; });
  refuses([](Json& m) { m["load"]["scenario"] = "rush_hour"; });
  refuses([](Json& m) { m["load"]["target_rate"] = "fast"; });
  refuses([](Json& m) { m["load"]["warm_up_seconds"] = 1e300; });
  LoadRequest many = server_request();
  for (std::size_t i = 0; i < 100; ++i) {
    many.buckets.push_back({100 + i, many.buckets[0].model});
  }
  EXPECT_THROW(static_cast<void>(carried(many)), FrameChannel::ProtocolError);
}

TEST(LoadConversion, carries_progress_and_bounds_its_text) {
  LoadRequest::Progress progress{"running", 12, Seconds(3.5)};
  const LoadRequest::Progress read = carried(progress);
  EXPECT_EQ(read.phase, "running");
  EXPECT_EQ(read.batches, 12U);
  EXPECT_EQ(read.elapsed, Seconds(3.5));
  progress.phase.assign(1'000'000, 'x');
  EXPECT_LE(carried(progress).phase.size(), 200U);
}

TEST(LoadConversion, carries_an_execution_and_refuses_any_other_text) {
  results::ScenarioResult load;
  load.mode = "plain";
  load.model = "lenet";
  load.scenario = loadgen::ScenarioName::kServer;
  load.outcome = {results::Outcome::Kind::kWrongResult, "nan"};
  load.started = parse_timestamp("2026-01-01T00:00:00Z");
  EXPECT_EQ(to_json(carried(load)), to_json(load));
  for (const char* text : {"", "{}", "[[[[", "\xff\xfe"}) {
    EXPECT_THROW(static_cast<void>(carried(load, [&](auto& content) { content.set_value(text); })),
                 FrameChannel::ProtocolError)
        << text;
  }
}

}  // namespace
}  // namespace plumb::worker
