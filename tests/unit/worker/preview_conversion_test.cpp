// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/worker/protocol/frame_channel.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

results::EngineChoices sample() {
  results::EngineChoices::Configuration one;
  one.engine = 41;
  one.knobs = {{"STAGES", -1}, {"TILE_SIZE", 5}};
  one.numerical_notes = {"TENSOR_CORE"};
  one.behaviour_notes = {"RUNTIME_COMPILATION"};
  one.workspace = Bytes{131};
  one.shared_memory = Bytes{4096};
  one.plan_digest = "ab";
  results::EngineChoices::Configuration refused;
  refused.refusal = "not \xff supported";
  results::EngineChoices::Offer offer;
  offer.layout = "NHWC";
  offer.engines = 80;
  offer.rankings = {{"A", {one, refused}, ""}, {"FALLBACK", {}, "none"}};
  return {{"v1:conv"}, {results::Outcome::Kind::kOk, ""}, {offer, {"NCHW", {}, {}, "bad graph"}}};
}

TEST(PreviewConversion, choices_survive_the_wire) {
  results::EngineChoices expected = sample();
  // Bytes that are not UTF-8 are replaced.
  expected.offers[0].rankings[0].configurations[1].refusal = "not \ufffd supported";
  EXPECT_EQ(carried(sample()), expected);
}

TEST(PreviewConversion, absent_sizes_stay_absent) {
  const results::EngineChoices copy = carried(sample());
  EXPECT_FALSE(copy.offers[0].rankings[0].configurations[1].workspace);
  EXPECT_FALSE(copy.offers[1].engines);
}

TEST(PreviewConversion, requests_survive_the_wire) {
  const WorkerService::PreviewRequest copy =
      carried(WorkerService::PreviewRequest{{"v1:conv"}, "{\"a\":1}"});
  EXPECT_EQ(copy.key.text, "v1:conv");
  EXPECT_EQ(copy.device, "{\"a\":1}");
}

TEST(PreviewConversion, hostile_messages_are_refused) {
  using Json = nlohmann::json;
  const auto refused = [](const auto& change) {
    EXPECT_THROW(static_cast<void>(spoilt(sample(), change)), FrameChannel::ProtocolError);
  };
  refused([](Json& choices) {
    choices["offers"][0]["rankings"][0]["configurations"][0]["workspace_bytes"] = -1;
  });
  refused([](Json& choices) {
    for (int i = 0; i < 20; ++i) {
      choices["offers"].push_back(choices["offers"][0]);
    }
  });
  refused([](Json& choices) { choices.erase("key"); });
  refused([](Json& choices) { choices["outcome"] = "splendid"; });
  EXPECT_THROW(static_cast<void>(
                   carried(WorkerService::PreviewRequest{{"v1:conv"}, std::string(1 << 20, 'x')})),
               FrameChannel::ProtocolError);
}

}  // namespace
}  // namespace plumb::worker
