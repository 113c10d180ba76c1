// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

using testing::ElementsAre;

AlternateRequest sample_request() {
  AlternateRequest request;
  for (const std::int64_t batch : {1, 8}) {
    ExecuteRequest& shape = request.shapes.emplace_back();
    shape.name = "resnet50-v1";
    shape.batch = batch;
    shape.modes.front().mode.fusion = true;
  }
  request.order = {0, 0, 1, 0, 1};
  return request;
}

AlternateRequest over_the_wire(const AlternateRequest& request) {
  protocol::AlternateRequest message;
  EXPECT_TRUE(message.ParseFromString(to_protocol(request).SerializeAsString()));
  return from_protocol(message);
}

TEST(AlternationConversion, requests_survive_the_wire) {
  const AlternateRequest copy = over_the_wire(sample_request());
  ASSERT_EQ(copy.shapes.size(), 2U);
  EXPECT_EQ(copy.shapes[1].batch, 8);
  EXPECT_TRUE(copy.shapes[1].modes.at(0).mode.fusion);
  EXPECT_THAT(copy.order, ElementsAre(0, 0, 1, 0, 1));
}

TEST(AlternationConversion, shapes_have_one_mode_in_common_and_executions_are_of_shapes) {
  AlternateRequest other_mode = sample_request();
  other_mode.shapes[1].modes.front().mode.fusion = false;
  EXPECT_THROW(static_cast<void>(over_the_wire(other_mode)), ProtocolError);
  AlternateRequest two_modes = sample_request();
  two_modes.shapes[0].modes.emplace_back();
  EXPECT_THROW(static_cast<void>(over_the_wire(two_modes)), ProtocolError);
  AlternateRequest beyond = sample_request();
  beyond.order.push_back(2);
  EXPECT_THROW(static_cast<void>(over_the_wire(beyond)), ProtocolError);
  AlternateRequest many = sample_request();
  many.shapes.resize(kMaxAlternatedShapes + 1, many.shapes.front());
  EXPECT_THROW(static_cast<void>(over_the_wire(many)), ProtocolError);
}

TEST(AlternationConversion, times_survive_the_wire_and_are_times) {
  const Alternation copy =
      from_protocol(to_protocol(Alternation{true, Seconds(0.5), {Seconds(0.1), Seconds(0.2)}}));
  EXPECT_TRUE(copy.one_program);
  EXPECT_EQ(copy.preparation, Seconds(0.5));
  EXPECT_THAT(copy.seconds, ElementsAre(Seconds(0.1), Seconds(0.2)));
  for (const double wrong : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(
        static_cast<void>(from_protocol(to_protocol(Alternation{false, {}, {Seconds(wrong)}}))),
        ProtocolError);
  }
}

}  // namespace
}  // namespace plumb::worker
