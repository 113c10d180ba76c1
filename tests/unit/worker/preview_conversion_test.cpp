// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

results::EngineChoices sample() {
  results::EngineConfiguration one;
  one.engine = 41;
  one.knobs = {{"STAGES", -1}, {"TILE_SIZE", 5}};
  one.numerical_notes = {"TENSOR_CORE"};
  one.behaviour_notes = {"RUNTIME_COMPILATION"};
  one.workspace = Bytes{131};
  one.shared_memory = Bytes{4096};
  one.plan_digest = "ab";
  results::EngineConfiguration refused;
  refused.refusal = "not \xff supported";
  results::EngineOffer offer;
  offer.layout = "NHWC";
  offer.engines = 80;
  offer.rankings = {{"A", {one, refused}, ""}, {"FALLBACK", {}, "none"}};
  return {{"v1:conv"}, {results::Outcome::Kind::kOk, ""}, {offer, {"NCHW", {}, {}, "bad graph"}}};
}

TEST(PreviewConversion, choices_survive_the_wire) {
  protocol::EngineChoices message;
  ASSERT_TRUE(message.ParseFromString(to_protocol(sample()).SerializeAsString()));
  EXPECT_EQ(from_protocol(message), sample());
}

TEST(PreviewConversion, absent_sizes_stay_absent) {
  const results::EngineChoices copy = from_protocol(to_protocol(sample()));
  EXPECT_FALSE(copy.offers[0].rankings[0].configurations[1].workspace);
  EXPECT_FALSE(copy.offers[1].engines);
}

TEST(PreviewConversion, requests_survive_the_wire) {
  const PreviewRequest copy = from_protocol(to_protocol(PreviewRequest{{"v1:conv"}, "{\"a\":1}"}));
  EXPECT_EQ(copy.key.text, "v1:conv");
  EXPECT_EQ(copy.device, "{\"a\":1}");
}

TEST(PreviewConversion, hostile_messages_are_refused) {
  protocol::EngineChoices negative = to_protocol(sample());
  negative.mutable_offers(0)->mutable_rankings(0)->mutable_configurations(0)->set_workspace_bytes(
      -1);
  EXPECT_THROW(static_cast<void>(from_protocol(negative)), ProtocolError);
  protocol::EngineChoices many = to_protocol(sample());
  for (int i = 0; i < 20; ++i) {
    *many.add_offers() = many.offers(0);
  }
  EXPECT_THROW(static_cast<void>(from_protocol(many)), ProtocolError);
  protocol::PreviewRequest large = to_protocol(PreviewRequest{{"v1:conv"}, ""});
  large.set_device(std::string(1 << 20, 'x'));
  EXPECT_THROW(static_cast<void>(from_protocol(large)), ProtocolError);
  protocol::EngineChoices keyless = to_protocol(sample());
  keyless.clear_key();
  EXPECT_THROW(static_cast<void>(from_protocol(keyless)), ProtocolError);
}

}  // namespace
}  // namespace plumb::worker
