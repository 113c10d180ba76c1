// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

TEST(ExecuteConversion, carries_a_request) {
  ExecuteRequest request;
  request.name = "resnet50-v1";
  request.model = std::string("\x08\x00\xff", 3);
  request.path = "/models/mine.onnx";
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
  protocol::ExecuteRequest message;
  ASSERT_TRUE(message.ParseFromString(to_protocol(request).SerializeAsString()));
  const ExecuteRequest read = from_protocol(message);
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
  EXPECT_FALSE(from_protocol(to_protocol(ExecuteRequest{})).sampled);
}

TEST(ExecuteConversion, refuses_samples_of_another_rate_or_in_a_relative_folder) {
  for (const SampledBlocks& sampled : {SampledBlocks{0.0, "/tmp/samples"},
                                       SampledBlocks{1e9, "/tmp/samples"},
                                       SampledBlocks{1000.0, "samples"}}) {
    ExecuteRequest request;
    request.sampled = sampled;
    EXPECT_THROW(static_cast<void>(from_protocol(to_protocol(request))), ProtocolError);
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
  protocol::Execution message;
  ASSERT_TRUE(message.ParseFromString(to_protocol(execution).SerializeAsString()));
  EXPECT_EQ(to_json(from_protocol(message)), to_json(execution));
}

TEST(ExecuteConversion, refuses_numbers_out_of_range) {
  protocol::ExecuteRequest request = to_protocol(ExecuteRequest{});
  (*request.mutable_dims())["sequence"] = -1;
  EXPECT_THROW(static_cast<void>(from_protocol(request)), ProtocolError);
  request = to_protocol(ExecuteRequest{});
  request.mutable_modes(0)->set_mode("fastest");
  EXPECT_THROW(static_cast<void>(from_protocol(request)), ProtocolError);
  request = to_protocol(ExecuteRequest{});
  request.set_dtype("f31");
  EXPECT_THROW(static_cast<void>(from_protocol(request)), ProtocolError);
  request = to_protocol(ExecuteRequest{});
  request.clear_modes();
  EXPECT_THROW(static_cast<void>(from_protocol(request)), ProtocolError);
  results::Execution executed;
  executed.row.key.text = "model:lenet";
  protocol::Execution execution = to_protocol(executed);
  EXPECT_NO_THROW(static_cast<void>(from_protocol(execution)));
  execution.set_scenario("rush_hour");
  EXPECT_THROW(static_cast<void>(from_protocol(execution)), ProtocolError);
  execution.clear_scenario();
  EXPECT_EQ(from_protocol(execution).scenario, loadgen::ScenarioName::kSingleStream);
  execution.set_reorders(-1);
  EXPECT_THROW(static_cast<void>(from_protocol(execution)), ProtocolError);
  execution = to_protocol(executed);
  execution.set_memory_bytes(-1);
  EXPECT_THROW(static_cast<void>(from_protocol(execution)), ProtocolError);
  for (const double share : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(static_cast<void>(from_protocol(to_protocol(ExecuteProgress{share, Seconds(1)}))),
                 ProtocolError);
  }
}

TEST(ExecuteConversion, carries_progress) {
  const ExecuteProgress read = from_protocol(to_protocol(ExecuteProgress{0.25, Seconds(3.5)}));
  EXPECT_EQ(read.share, 0.25);
  EXPECT_EQ(read.elapsed, Seconds(3.5));
}

}  // namespace
}  // namespace plumb::worker
