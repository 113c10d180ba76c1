// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/frame_channel.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

using testing::ElementsAre;

Alternation::Request sample_request() {
  Alternation::Request request;
  for (const std::int64_t batch : {1, 8}) {
    ExecuteRequest& shape = request.shapes.emplace_back();
    shape.name = "resnet50-v1";
    shape.batch = batch;
    shape.modes.front().mode.fusion = true;
  }
  request.order = {0, 0, 1, 0, 1};
  return request;
}

TEST(AlternationConversion, requests_survive_the_wire) {
  const Alternation::Request copy = carried(sample_request());
  ASSERT_EQ(copy.shapes.size(), 2U);
  EXPECT_EQ(copy.shapes[1].batch, 8);
  EXPECT_TRUE(copy.shapes[1].modes.at(0).mode.fusion);
  EXPECT_THAT(copy.order, ElementsAre(0, 0, 1, 0, 1));
}

TEST(AlternationConversion, shapes_have_one_mode_in_common_and_executions_are_of_shapes) {
  Alternation::Request other_mode = sample_request();
  other_mode.shapes[1].modes.front().mode.fusion = false;
  EXPECT_THROW(static_cast<void>(carried(other_mode)), FrameChannel::ProtocolError);
  Alternation::Request two_modes = sample_request();
  two_modes.shapes[0].modes.emplace_back();
  EXPECT_THROW(static_cast<void>(carried(two_modes)), FrameChannel::ProtocolError);
  Alternation::Request beyond = sample_request();
  beyond.order.push_back(2);
  EXPECT_THROW(static_cast<void>(carried(beyond)), FrameChannel::ProtocolError);
  EXPECT_THROW(
      static_cast<void>(spoilt(
          sample_request(), [](auto& request) { request["order"] = {std::uint64_t{1} << 32U}; })),
      FrameChannel::ProtocolError);
  Alternation::Request many = sample_request();
  many.shapes.resize(kMaxAlternatedShapes + 1, many.shapes.front());
  EXPECT_THROW(static_cast<void>(carried(many)), FrameChannel::ProtocolError);
}

TEST(AlternationConversion, times_survive_the_wire_and_are_times) {
  Alternation sent{true, Seconds(0.5), {Seconds(0.1), Seconds(0.2)}};
  sent.disturbance.involuntary_switches = 7;
  sent.disturbance.disturbed = true;
  sent.readings[results::kHostPace] = {2e-5, 1e-5, 3e-5, 2};
  const Alternation copy = carried(sent);
  EXPECT_EQ(copy.disturbance.involuntary_switches, 7);
  EXPECT_TRUE(copy.disturbance.disturbed);
  EXPECT_EQ(copy.readings, sent.readings);
  EXPECT_TRUE(copy.one_program);
  EXPECT_EQ(copy.preparation, Seconds(0.5));
  EXPECT_THAT(copy.seconds, ElementsAre(Seconds(0.1), Seconds(0.2)));
  for (const double wrong : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(static_cast<void>(carried(Alternation{false, {}, {Seconds(wrong)}})),
                 FrameChannel::ProtocolError);
  }
}

}  // namespace
}  // namespace plumb::worker
