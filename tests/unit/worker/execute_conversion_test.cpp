// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "harness/worker/protocol/frame_channel.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

TEST(ExecuteConversion, carries_a_request) {
  ExecuteRequest request;
  request.name = "resnet50-v1";
  request.model = std::string("\x08\x00\xff", 3);
  request.path = "/models/mine\xff.onnx";  // paths keep bytes that are not UTF-8
  request.batch = 8;
  request.rebatch = true;
  request.dims = {{"sequence", 128}, {"image", 224}};
  request.dtype = "tf32";
  request.training = "adamw";
  request.modes = {{},
                   {{.best_variant = true, .fusion = true},
                    {{{3, 4}, {"v1:relu"}, {{"impl=a", Seconds(1e-3)}, {"impl=b", Seconds(2e-3)}}}},
                    Seconds(1e-10)}};
  request.sampling.budget = Seconds(2.5);
  request.seed = ~std::uint64_t{0};
  request.disturbed_attempts = 5;
  request.profile = false;
  request.verify = false;
  request.in_turns = true;
  request.sampled = {500.0, "/tmp/samples"};
  const ExecuteRequest read = carried(request);
  EXPECT_EQ(read.name, request.name);
  EXPECT_EQ(read.model, request.model);
  EXPECT_EQ(read.path, request.path);
  EXPECT_EQ(read.batch, request.batch);
  EXPECT_TRUE(read.rebatch);
  EXPECT_TRUE(read.in_turns);
  EXPECT_EQ(read.dims, request.dims);
  EXPECT_EQ(read.dtype, request.dtype);
  EXPECT_EQ(read.training, request.training);
  ASSERT_EQ(read.modes.size(), 2U);
  EXPECT_EQ(read.modes[0].mode, results::ExecutionMode{});
  EXPECT_TRUE(read.modes[0].steps.empty());
  EXPECT_EQ(read.modes[1].mode, request.modes[1].mode);
  ASSERT_EQ(read.modes[1].steps.size(), 1U);
  EXPECT_EQ(read.modes[1].steps[0].layers, (std::vector<model::LayerId>{3, 4}));
  EXPECT_EQ(read.modes[1].steps[0].key.text, "v1:relu");
  ASSERT_EQ(read.modes[1].steps[0].choices.size(), 2U);
  EXPECT_EQ(read.modes[1].steps[0].choices[1].variant, "impl=b");
  EXPECT_EQ(read.modes[1].steps[0].choices[1].seconds, Seconds(2e-3));
  EXPECT_EQ(read.modes[1].reorder_per_byte, Seconds(1e-10));
  EXPECT_EQ(read.sampling.budget, request.sampling.budget);
  EXPECT_EQ(read.seed, request.seed);
  EXPECT_EQ(read.disturbed_attempts, request.disturbed_attempts);
  EXPECT_FALSE(read.profile);
  EXPECT_FALSE(read.verify);
  ASSERT_TRUE(read.sampled);
  EXPECT_EQ(read.sampled->rate, 500.0);
  EXPECT_EQ(read.sampled->folder, "/tmp/samples");
  EXPECT_FALSE(carried(ExecuteRequest{}).sampled);
}

TEST(ExecuteConversion, refuses_samples_of_another_rate_or_in_a_relative_folder) {
  for (const ExecuteRequest::Sampling& sampled : {ExecuteRequest::Sampling{0.0, "/tmp/samples"},
                                                  ExecuteRequest::Sampling{1e9, "/tmp/samples"},
                                                  ExecuteRequest::Sampling{1000.0, "samples"}}) {
    ExecuteRequest request;
    request.sampled = sampled;
    EXPECT_THROW(static_cast<void>(carried(request)), FrameChannel::ProtocolError);
  }
}

TEST(ExecuteConversion, carries_an_execution) {
  results::Execution execution;
  execution.mode = "plain";
  execution.row.key.text = "model:lenet";
  execution.row.samples = {Seconds(0.25), Seconds(0.5)};
  execution.row.summary = measure::summarize(execution.row.samples);
  execution.memory = Bytes{1 << 20};
  execution.reorders = 3;
  execution.layers = {{{4, 5}, {"v1:conv"}, "impl=a", Seconds(0.125), Seconds(0.25), 2, {}}};
  execution.layers.push_back({{}, {}, "", Seconds(0), Seconds(0.5), 1, {}});  // of an output
  execution.layers[0].in_context = {Seconds(0.5), {Seconds(0.375), Seconds(0.625)}};
  execution.in_context = {Seconds(0.75), {Seconds(0.5), Seconds(1.0)}};
  execution.row.turns = {Seconds(0.375)};
  const results::Execution read = carried(execution);
  EXPECT_EQ(to_json(read), to_json(execution));
  EXPECT_EQ(read.row.turns, execution.row.turns);
}

TEST(ExecuteConversion, refuses_numbers_out_of_range) {
  using Json = nlohmann::json;
  const ExecuteRequest sample;
  const auto refused = [&](const auto& change) {
    EXPECT_THROW(static_cast<void>(spoilt(sample, change)), FrameChannel::ProtocolError);
  };
  refused([](Json& request) { request["dims"]["sequence"] = -1; });
  refused([](Json& request) { request["modes"][0]["mode"] = "fastest"; });
  refused([](Json& request) { request["dtype"] = "f31"; });
  refused([](Json& request) { request["modes"].clear(); });
  refused([](Json& request) {
    request["modes"][0]["steps"] = {
        {{"layers", {1}}, {"key", "v1:relu"}, {"choices", Json::array()}}};
  });
  refused([](Json& request) { request["sampling"]["samples_at_least"] = 0; });
  refused([](Json& request) { request["sampling"]["budget_seconds"] = -1.0; });
  refused([](Json& request) { request["seed"] = "18446744073709551616"; });
  EXPECT_THROW(static_cast<void>(
                   carried(ExecuteRequest{}, [](auto& content) { content.clear_attachments(); })),
               FrameChannel::ProtocolError);
}

TEST(ExecuteConversion, refuses_an_execution_out_of_range) {
  using Json = nlohmann::json;
  results::Execution executed;
  executed.row.key.text = "model:lenet";
  EXPECT_NO_THROW(static_cast<void>(carried(executed)));
  const auto refused = [&](const auto& change) {
    EXPECT_THROW(static_cast<void>(spoilt(executed, change)), FrameChannel::ProtocolError);
  };
  refused([](Json& execution) { execution["scenario"] = "rush_hour"; });
  refused([](Json& execution) { execution["reorders"] = -1; });
  refused([](Json& execution) { execution["memory_bytes"] = -1; });
  refused([](Json& execution) { execution["row"]["key"] = ""; });
  EXPECT_EQ(spoilt(executed, [](Json& execution) { execution["scenario"] = ""; }).scenario,
            loadgen::ScenarioName::kSingleStream);
  for (const double share : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(static_cast<void>(carried(ExecuteRequest::Progress{share, Seconds(1)})),
                 FrameChannel::ProtocolError);
  }
}

TEST(ExecuteConversion, carries_progress) {
  const ExecuteRequest::Progress read = carried(ExecuteRequest::Progress{0.25, Seconds(3.5)});
  EXPECT_EQ(read.share, 0.25);
  EXPECT_EQ(read.elapsed, Seconds(3.5));
}

}  // namespace
}  // namespace plumb::worker
