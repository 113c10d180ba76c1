// SPDX-License-Identifier: Apache-2.0
// The clocks of layers and of a model's steps, by the stand-in's scripted clock.
#include "runners/cuda/event_clock.hpp"
#include "tests/unit/cuda_driver/stand_in_device.hpp"

namespace plumb::stand_in {
namespace {

using ::testing::HasSubstr;
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
  cuda::EventClock clock(driver(), stream, [&](std::size_t) { work(stream.get(), {}); });
  const std::size_t slots[] = {0};
  const worker::Program::DeviceClock::Sample sample = clock.sample(slots);
  EXPECT_NEAR(sample.each.count(), 2e-6, 1e-9);
  EXPECT_GT(sample.at_most, sample.each);
  EXPECT_GE(sample.executions, 500U);
  EXPECT_LT(sample.executions, 600U);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(ReplayClockOnStandIn, replays_few_executions_of_a_long_kernel) {
  control().set_duration(Duration::kKernel, 3'000'000);
  const cuda::DeviceStream stream(driver());
  cuda::EventClock clock(driver(), stream, [&](std::size_t) { work(stream.get(), {}); });
  const std::size_t slots[] = {0, 1, 2};
  const worker::Program::DeviceClock::Sample sample = clock.sample(slots);
  EXPECT_EQ(sample.executions, 3U);
  EXPECT_NEAR(sample.each.count(), 3e-3, 1e-6);
}

// The kernel takes 2 us and its launch 8; a sweep takes 20.
TEST_F(ReplayClockOnStandIn, one_execution_behind_other_work_does_not_contain_its_launch) {
  const cuda::DeviceStream stream(driver());
  const cuda::Device::Memory memory(driver(), 64);
  cuda::EventClock clock(driver(), stream, [&](std::size_t) { work(stream.get(), {}); });
  EXPECT_NEAR(clock.sample_once(0, [] {}).each.count(), 10e-6, 1e-6) << "on an idle stream";
  const worker::Program::DeviceClock::Sample behind = clock.sample_once(
      0, [&] { cuda::set_bytes(driver(), memory.address(), 0, memory.size(), stream.get()); });
  EXPECT_NEAR(behind.each.count(), 2e-6, 1e-6);
  EXPECT_EQ(behind.executions, 1U);
  EXPECT_THAT(findings(), IsEmpty());
}

class StepClockOnStandIn : public ReplayClockOnStandIn {};

TEST_F(StepClockOnStandIn, times_steps_without_their_launches) {
  const cuda::DeviceStream stream(driver());
  const auto launches_of = [](int kernels) {
    return cuda::DeviceLaunch([kernels](cuda::abi::Stream into) {
      for (int i = 0; i < kernels; ++i) {
        work(into, {});
      }
    });
  };
  const std::vector<cuda::DeviceLaunch> launches{launches_of(1), launches_of(0), launches_of(5)};
  cuda::EventClock::Steps clock(driver(), stream, launches);
  for (int i = 0; i < 2; ++i) {
    const std::vector<Seconds> times = clock.sample();
    ASSERT_EQ(times.size(), 3U);
    EXPECT_NEAR(times[0].count(), 2e-6, 1e-9);
    EXPECT_NEAR(times[1].count(), 0.0, 1e-9);
    EXPECT_NEAR(times[2].count(), 10e-6, 1e-9);
  }
  EXPECT_THAT(clock.refusal(), IsEmpty());
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(StepClockOnStandIn, knows_nothing_of_steps_that_cannot_be_captured) {
  const cuda::DeviceStream stream(driver());
  const std::vector<cuda::DeviceLaunch> launches{
      [&](cuda::abi::Stream) { driver().check(cu().context_synchronize(), "a step that waits"); }};
  cuda::EventClock::Steps clock(driver(), stream, launches);
  EXPECT_THAT(clock.sample(), IsEmpty());
  EXPECT_THAT(clock.refusal(), HasSubstr("a step that waits"));
}

}  // namespace
}  // namespace plumb::stand_in
