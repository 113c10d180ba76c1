// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/device_health.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/cuda/event_clock.hpp"

namespace plumb::cuda {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

ManagedDevice::Sample sample(double watts, std::uint64_t reasons) {
  return {.sm_clock_hertz = 1.98e9,
          .memory_clock_hertz = 2.619e9,
          .power_watts = watts,
          .temperature_celsius = 41.0,
          .reasons = reasons};
}

TEST(DeviceHealth, sums_up_what_was_seen) {
  const std::vector<ManagedDevice::Sample> samples{
      sample(310.0, 0), sample(650.0, 0), sample(640.0, 0)};
  const engine::BlockMonitor::Block block = judged_block(samples, {}, {});
  EXPECT_EQ(block.readings.at("power_watts"), (results::Reading{640.0, 310.0, 650.0, 3}));
  EXPECT_EQ(block.readings.at("sm_clock_hertz").median, 1.98e9);
  EXPECT_EQ(block.readings.at("temperature_celsius").n, 3);
  EXPECT_FALSE(block.disturbed);
  EXPECT_THAT(block.fault, IsEmpty());
  for (const auto& [name, reading] : block.readings) {
    EXPECT_TRUE(results::is_attribute_name(name)) << name;
  }
}

TEST(DeviceHealth, what_the_library_does_not_say_is_absent_and_judges_nothing) {
  const std::vector<ManagedDevice::Sample> silent(3);
  const engine::BlockMonitor::Block block = judged_block(silent, {}, {});
  EXPECT_THAT(block.readings, IsEmpty());
  EXPECT_FALSE(block.disturbed);
  EXPECT_THAT(judged_block({}, {}, {}).readings, IsEmpty());
}

TEST(DeviceHealth, hardware_and_heat_disturb_and_a_power_cap_is_said) {
  for (const std::uint64_t bad : {abi::kReasonHardwareSlowdown,
                                  abi::kReasonSoftwareThermal,
                                  abi::kReasonHardwareThermal,
                                  abi::kReasonPowerBrake}) {
    const std::vector<ManagedDevice::Sample> samples{sample(600, 0), sample(600, bad)};
    const engine::BlockMonitor::Block slowed = judged_block(samples, {}, {});
    EXPECT_TRUE(slowed.disturbed) << bad;
    EXPECT_EQ(slowed.readings.at("throttled_ratio"), (results::Reading{0.5, 0.5, 0.5, 2})) << bad;
  }
  const std::vector<ManagedDevice::Sample> capped{sample(700, abi::kReasonSoftwarePowerCap),
                                                  sample(700, abi::kReasonSoftwarePowerCap),
                                                  sample(690, 0),
                                                  sample(690, 1)};  // idle, for a moment
  const engine::BlockMonitor::Block block = judged_block(capped, {}, {});
  EXPECT_FALSE(block.disturbed);
  EXPECT_EQ(block.readings.at("throttled.software_power_cap_ratio").median, 0.5);
  EXPECT_EQ(block.readings.at("throttled_ratio"), (results::Reading{0.0, 0.0, 0.0, 4}))
      << "a large product always meets the cap";
  EXPECT_THAT(block.readings, Not(Contains(Key("throttled.hardware_slowdown_ratio"))));
}

TEST(DeviceHealth, a_clock_that_moved_by_more_than_three_percent_disturbs) {
  const auto block_of = [](std::initializer_list<double> clocks) {
    std::vector<ManagedDevice::Sample> samples;
    for (const double hertz : clocks) {
      samples.push_back(sample(600, 0));
      samples.back().sm_clock_hertz = hertz;
    }
    return judged_block(samples, {}, {});
  };
  const engine::BlockMonitor::Block steady = block_of({1.980e9, 1.965e9, 1.950e9, 1.965e9});
  EXPECT_FALSE(steady.disturbed);
  EXPECT_NEAR(steady.readings.at("sm_clock_moved_ratio").median, 30.0 / 1965.0, 1e-12);
  EXPECT_EQ(steady.readings.at("sm_clock_moved_ratio").n, 4);
  const engine::BlockMonitor::Block ramp = block_of({1.410e9, 1.755e9, 1.980e9, 1.980e9, 1.980e9});
  EXPECT_TRUE(ramp.disturbed);
  EXPECT_NEAR(ramp.readings.at("sm_clock_moved_ratio").median, 570.0 / 1980.0, 1e-12);
  EXPECT_TRUE(block_of({2.0e9, 2.0e9, 2.0e9, 1.9e9}).disturbed) << "one of many, too";
  const engine::BlockMonitor::Block once = block_of({1.410e9});
  EXPECT_FALSE(once.disturbed);
  EXPECT_THAT(once.readings, Not(Contains(Key("sm_clock_moved_ratio"))))
      << "one look says nothing of a movement";
}

TEST(DeviceHealth, memory_errors_and_xids_of_the_device_are_faults) {
  EXPECT_THAT(judged_block({}, {3, {}}, {3, {}}).fault, IsEmpty());
  EXPECT_THAT(judged_block({}, {3, {}}, {5, {}}).fault, HasSubstr("errors of the GPU's memory: 2"));
  EXPECT_THAT(judged_block({}, {std::nullopt, {}}, {5, {}}).fault, IsEmpty())
      << "nothing to compare with";
  EXPECT_THAT(judged_block({}, {}, {std::nullopt, {48, 94}}).fault,
              "the driver reported Xid 48; the driver reported Xid 94");
  EXPECT_THAT(judged_block({}, {}, {std::nullopt, {31, 13}}).fault, IsEmpty())
      << "a program's illegal address costs its row only";
}

TEST(DeviceHealth, energy_is_taken_between_the_steps_of_the_counter) {
  // 10 executions a look; the counter moves every third look, by 900 mJ.
  std::vector<ManagedDevice::EnergyMark> marks;
  for (std::uint64_t i = 0; i < 13; ++i) {
    marks.push_back({i * 10, 5000 + (i / 3) * 900});
  }
  const std::optional<results::Reading> energy = energy_per_execution(marks);
  ASSERT_TRUE(energy);
  EXPECT_DOUBLE_EQ(energy->median, 0.9 / 30.0);
  EXPECT_EQ(energy->n, 3);
}

TEST(DeviceHealth, energy_is_absent_where_the_counter_stands_or_moves_once) {
  const std::vector<ManagedDevice::EnergyMark> still{{0, 7}, {10, 7}, {20, 7}};
  EXPECT_FALSE(energy_per_execution(still));
  const std::vector<ManagedDevice::EnergyMark> once{{0, 7}, {10, 7}, {20, 9}};
  EXPECT_FALSE(energy_per_execution(once)) << "since when it had gathered that is not known";
  EXPECT_FALSE(energy_per_execution({}));
}

TEST(EventTimer, the_clocks_step_is_the_smallest_difference) {
  // Of an H100's events, in steps of 32 ns.
  const std::vector<Seconds> times{
      Seconds(1.568e-6), Seconds(1.536e-6), Seconds(1.536e-6), Seconds(1.6e-6), Seconds(2.24e-6)};
  EXPECT_NEAR(smallest_step(times).value().count(), 32e-9, 1e-15);
  EXPECT_FALSE(smallest_step({Seconds(1e-6), Seconds(1e-6)}));
  EXPECT_FALSE(smallest_step({}));
}

TEST(DeviceMonitor, looks_during_blocks_only) {
  std::atomic<int> looks = 0;
  ManagedDevice::Monitor monitor(
      [&] {
        looks += 1;
        return sample(500.0, abi::kReasonHardwareSlowdown);
      },
      [] { return ManagedDevice::Errors{}; },
      Seconds(0.001));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(looks, 0);
  monitor.begin();
  while (looks < 3) {
    std::this_thread::yield();
  }
  const engine::BlockMonitor::Block block = monitor.end();
  EXPECT_TRUE(block.disturbed);
  EXPECT_GE(block.readings.at("power_watts").n, 3);
  const int after = looks;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(looks, after + 1) << "but for one that was under way";
}

TEST(DeviceMonitor, finds_at_the_next_block_what_happened_between_two_and_forgets_nothing) {
  std::vector<std::uint64_t> waiting;
  ManagedDevice::Monitor monitor(
      [] { return ManagedDevice::Sample{}; },
      [&] {
        return ManagedDevice::Errors{std::nullopt, std::exchange(waiting, {})};
      },
      Seconds(60.0));
  monitor.begin();
  EXPECT_THAT(monitor.end().fault, IsEmpty());
  waiting = {31, 79};
  for (int block = 0; block < 2; ++block) {
    monitor.begin();
    EXPECT_EQ(monitor.end().fault, "the driver reported Xid 79");
  }
}

TEST(DeviceMonitor, a_block_without_a_tick_is_looked_at_once) {
  std::uint64_t errors = 0;
  ManagedDevice::Monitor monitor([] { return sample(500.0, 0); },
                                 [&] {
                                   return ManagedDevice::Errors{errors++, {}};
                                 },
                                 Seconds(60.0));
  monitor.begin();
  const engine::BlockMonitor::Block block = monitor.end();
  EXPECT_EQ(block.readings.at("power_watts").n, 1);
  EXPECT_THAT(block.fault, HasSubstr("memory: 1"));
}

}  // namespace
}  // namespace plumb::cuda
