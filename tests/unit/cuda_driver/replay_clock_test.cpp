// SPDX-License-Identifier: Apache-2.0
// How the clock that replays graphs chooses what it replays, by the stand-in's scripted clock.
#include "runners/cuda/replay_clock.hpp"

#include "tests/unit/cuda_driver/stand_in_device.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::IsEmpty;

class ReplayClockOnStandIn : public StandInTest {
 protected:
  void SetUp() override {
    StandInTest::SetUp();
    control().set_delay(0);
    control().set_duration(Duration::kKernel, 2'000);
    control().set_duration(Duration::kEagerLaunch, 8'000);
  }
  void TearDown() override {
    control().set_duration(Duration::kKernel, 100'000);
    control().set_duration(Duration::kEagerLaunch, 0);
    StandInTest::TearDown();
  }
};

TEST_F(ReplayClockOnStandIn, replays_a_millisecond_of_kernels_that_are_shorter_than_a_launch) {
  const cuda::DeviceStream stream(driver());
  cuda::ReplayClock clock(driver(), stream, [&](std::size_t) { work(stream.get(), {}); });
  const std::size_t slots[] = {0};
  const DeviceSample sample = clock.sample(slots);
  EXPECT_NEAR(sample.each.count(), 2e-6, 1e-9);
  EXPECT_GT(sample.at_most, sample.each);
  EXPECT_GE(sample.executions, 500U);
  EXPECT_LT(sample.executions, 600U);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ReplayClockOnStandIn, replays_few_executions_of_a_long_kernel) {
  control().set_duration(Duration::kKernel, 3'000'000);
  const cuda::DeviceStream stream(driver());
  cuda::ReplayClock clock(driver(), stream, [&](std::size_t) { work(stream.get(), {}); });
  const std::size_t slots[] = {0, 1, 2};
  const DeviceSample sample = clock.sample(slots);
  EXPECT_EQ(sample.executions, 3U);
  EXPECT_NEAR(sample.each.count(), 3e-3, 1e-6);
}

}  // namespace
}  // namespace plumb::stand_in
