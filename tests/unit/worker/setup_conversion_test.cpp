// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/worker/protocol/frame_channel.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "tests/unit/worker/carried_value.hpp"

namespace plumb::worker {
namespace {

TEST(SetupConversion, keeps_every_field) {
  const WorkerService::Setup setup{
      {"/a/lib.so", "lib\xFF.so"}, 3, {true, {{"a.sum"}}}, 7, "GPU-5b", true};
  const WorkerService::Setup read = carried(setup);
  EXPECT_EQ(read.libraries, setup.libraries);
  EXPECT_EQ(read.threads, 3);
  EXPECT_TRUE(read.observe.kernels);
  EXPECT_EQ(read.observe.metrics, setup.observe.metrics);
  EXPECT_EQ(read.place, 7U);
  EXPECT_EQ(read.device, setup.device);
  EXPECT_TRUE(read.takes_turns);
  EXPECT_EQ(carried(WorkerService::Setup{}).device, "");
  EXPECT_EQ(carried(WorkerService::Setup{}).place, std::nullopt);
}

TEST(SetupConversion, tells_no_metrics_from_the_backends_own) {
  WorkerService::Setup setup;
  EXPECT_FALSE(carried(setup).observe.metrics.has_value());
  setup.observe.metrics.emplace();
  EXPECT_THAT(carried(setup).observe.metrics, testing::Optional(testing::IsEmpty()));
}

TEST(SetupConversion, refuses_what_no_harness_sends) {
  using Json = nlohmann::json;
  const auto refused = [](const auto& change) {
    EXPECT_THROW(static_cast<void>(spoilt(WorkerService::Setup{}, change)),
                 FrameChannel::ProtocolError);
  };
  refused([](Json& setup) { setup["threads"] = 0; });
  refused([](Json& setup) { setup["threads"] = 1 << 20; });
  refused([](Json& setup) { setup["place"] = -1; });
  refused([](Json& setup) { setup["place"] = std::uint64_t{1} << 32U; });
  refused([](Json& setup) { setup["device"] = std::string(kMaxDeviceName + 1, '1'); });
  refused([](Json& setup) { setup["observe_metrics"] = Json(kMaxMetrics + 1, "x"); });
  refused([](Json& setup) { setup["libraries"] = Json(1001, "x"); });
  refused([](Json& setup) { setup["libraries"] = {300}; });
}

}  // namespace
}  // namespace plumb::worker
