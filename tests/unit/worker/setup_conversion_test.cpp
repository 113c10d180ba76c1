// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/worker/protocol/metric_names.hpp"
#include "harness/worker/protocol/protocol.pb.h"
#include "harness/worker/protocol/protocol_conversion.hpp"
#include "harness/worker/protocol/protocol_error.hpp"

namespace plumb::worker {
namespace {

TEST(SetupConversion, keeps_every_field) {
  const WorkerSetup setup{
      {"/a/lib.so", "lib\xFF.so"}, 3, {true, {{"a.sum"}}}, 7, "GPU-5b\xFF", true};
  const WorkerSetup read = from_protocol(to_protocol(setup));
  EXPECT_EQ(read.libraries, setup.libraries);
  EXPECT_EQ(read.threads, 3);
  EXPECT_TRUE(read.observe.kernels);
  EXPECT_EQ(read.observe.metrics, setup.observe.metrics);
  EXPECT_EQ(read.place, 7U);
  EXPECT_EQ(read.device, setup.device);
  EXPECT_TRUE(read.takes_turns);
  EXPECT_EQ(from_protocol(to_protocol(WorkerSetup{})).device, "");
  EXPECT_EQ(from_protocol(to_protocol(WorkerSetup{})).place, std::nullopt);
}

TEST(SetupConversion, tells_no_metrics_from_the_backends_own) {
  WorkerSetup setup;
  EXPECT_FALSE(from_protocol(to_protocol(setup)).observe.metrics.has_value());
  setup.observe.metrics.emplace();
  EXPECT_THAT(from_protocol(to_protocol(setup)).observe.metrics,
              testing::Optional(testing::IsEmpty()));
}

TEST(SetupConversion, refuses_what_no_harness_sends) {
  protocol::WorkerSetup message = to_protocol(WorkerSetup{});
  message.set_threads(0);
  EXPECT_THROW(static_cast<void>(from_protocol(message)), ProtocolError);
  message.set_threads(1 << 20);
  EXPECT_THROW(static_cast<void>(from_protocol(message)), ProtocolError);
  message.set_threads(1);
  message.set_device(std::string(kMaxDeviceName + 1, '1'));
  EXPECT_THROW(static_cast<void>(from_protocol(message)), ProtocolError);
  message.clear_device();
  for (std::size_t i = 0; i <= kMaxMetrics; ++i) {
    message.mutable_observe_metrics()->add_name("x");
  }
  EXPECT_THROW(static_cast<void>(from_protocol(message)), ProtocolError);
}

}  // namespace
}  // namespace plumb::worker
