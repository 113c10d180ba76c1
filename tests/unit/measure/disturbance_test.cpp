// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/disturbance.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace plumb::measure {
namespace {

class DisturbanceFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("plumb-disturbance-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "pressure");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }

  std::filesystem::path folder_;
};

TEST_F(DisturbanceFiles, reads_what_the_kernel_writes) {
  write("stat", "cpu  100 20 30 800 5 1 4 40 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  write("loadavg", "2.50 0.30 0.54 2/96 20876\n");
  write("pressure/cpu",
        "some avg10=7.46 avg60=4.45 avg300=2.05 total=354700131\nfull avg10=0 total=1\n");
  const Disturbance::Reading reading = read_disturbance(folder_);
  EXPECT_DOUBLE_EQ(reading.steal_ticks.value(), 40.0);
  EXPECT_DOUBLE_EQ(reading.total_ticks.value(), 1000.0) << "guest time is part of user";
  EXPECT_DOUBLE_EQ(reading.load.value(), 2.5);
  EXPECT_DOUBLE_EQ(reading.pressure_microseconds.value(), 354700131.0);
}

TEST_F(DisturbanceFiles, missing_files_are_absent_values) {
  const Disturbance::Reading reading = read_disturbance(folder_ / "nowhere");
  EXPECT_FALSE(reading.steal_ticks.has_value());
  EXPECT_FALSE(reading.load.has_value());
  EXPECT_FALSE(reading.pressure_microseconds.has_value());
  EXPECT_GE(reading.involuntary_switches, 0);
}

TEST_F(DisturbanceFiles, hostile_files_are_absent_values) {
  const std::vector<std::string> hostile{"",
                                         "\n",
                                         "cpu",
                                         "cpu 1 2 3\n",
                                         "cpu a b c d e f g h\n",
                                         "cpu 1 2 3 4 5 6 7 -8\n",
                                         "cpu 1 2 3 4 5 6 7 nan\n",
                                         "cpu 1 2 3 4 5 6 7 1e999\n",
                                         std::string(100'000, ' '),
                                         std::string(100'000, 'x'),
                                         std::string("\0\0\0", 3),
                                         "some total=\n",
                                         "some total=-1\n",
                                         "full total=5\n"};
  for (const std::string& text : hostile) {
    write("stat", text);
    write("loadavg", text == "" ? text : "x" + text);
    write("pressure/cpu", text);
    const Disturbance::Reading reading = read_disturbance(folder_);
    EXPECT_FALSE(reading.steal_ticks.has_value()) << text.substr(0, 40);
    EXPECT_FALSE(reading.load.has_value()) << text.substr(0, 40);
    EXPECT_FALSE(reading.pressure_microseconds.has_value()) << text.substr(0, 40);
  }
}

Disturbance::Reading moment(
    double wall, std::int64_t switches, double steal, double total, double pressure) {
  Disturbance::Reading reading;
  reading.wall = Seconds(wall);
  reading.involuntary_switches = switches;
  reading.steal_ticks = steal;
  reading.total_ticks = total;
  reading.pressure_microseconds = pressure;
  reading.load = 1.5;
  return reading;
}

TEST(Disturbance, a_quiet_block_is_not_disturbed) {
  const Disturbance result =
      disturbance_between(moment(10.0, 5, 100, 5000, 1e6), moment(10.1, 7, 100, 5020, 1e6));
  EXPECT_FALSE(result.disturbed);
  EXPECT_EQ(result.involuntary_switches, 2);
  EXPECT_DOUBLE_EQ(result.steal_ratio.value(), 0.0);
  EXPECT_DOUBLE_EQ(result.pressure_ratio.value(), 0.0);
  EXPECT_DOUBLE_EQ(result.load.value(), 0.5);
}

TEST(Disturbance, many_involuntary_switches_disturb) {
  // An eighth of a second allows 2 + 40 / 8 = 7.
  EXPECT_FALSE(
      disturbance_between(moment(10.0, 0, 0, 0, 0), moment(10.125, 7, 0, 20, 0)).disturbed);
  EXPECT_TRUE(disturbance_between(moment(10.0, 0, 0, 0, 0), moment(10.125, 8, 0, 20, 0)).disturbed);
}

TEST(Disturbance, stolen_time_disturbs_from_the_second_tick) {
  const Disturbance one = disturbance_between(moment(10.0, 0, 0, 0, 0), moment(10.1, 0, 1, 20, 0));
  EXPECT_DOUBLE_EQ(one.steal_ratio.value(), 0.05);
  EXPECT_FALSE(one.disturbed);
  EXPECT_TRUE(disturbance_between(moment(10.0, 0, 0, 0, 0), moment(10.1, 0, 2, 20, 0)).disturbed);
  EXPECT_FALSE(disturbance_between(moment(10.0, 0, 0, 0, 0), moment(11.0, 0, 2, 200, 0)).disturbed)
      << "1%";
}

TEST(Disturbance, tasks_waiting_for_a_cpu_disturb) {
  const Disturbance waiting =
      disturbance_between(moment(10.0, 0, 0, 0, 0), moment(10.1, 0, 0, 20, 20'000));
  EXPECT_NEAR(waiting.pressure_ratio.value(), 0.2, 1e-9);
  EXPECT_TRUE(waiting.disturbed);
  EXPECT_FALSE(
      disturbance_between(moment(10.0, 0, 0, 0, 0), moment(10.001, 0, 0, 0, 500)).disturbed)
      << "a millisecond is too short to judge";
}

TEST(Disturbance, counters_that_run_backwards_say_nothing) {
  const Disturbance result =
      disturbance_between(moment(10.0, 9, 50, 500, 1000), moment(10.1, 3, 40, 400, 10));
  EXPECT_EQ(result.involuntary_switches, 0);
  EXPECT_FALSE(result.steal_ratio.has_value());
  EXPECT_FALSE(result.pressure_ratio.has_value());
  EXPECT_FALSE(result.disturbed);
}

TEST(Disturbance, watches_a_real_block) {
  const Disturbance::Reading begin = read_disturbance();
  const Disturbance result = disturbance_between(begin, read_disturbance());
  EXPECT_GE(result.involuntary_switches, 0);
}

}  // namespace
}  // namespace plumb::measure
