// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/layer_timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness/results/measurement.hpp"
#include "tests/unit/engine/listed_monitor.hpp"

namespace plumb::engine {
namespace {

class CostlyRegion final : public measure::TimedRegion {
 public:
  CostlyRegion(Seconds& now, std::function<double(int)> cost) : now_(now), cost_(std::move(cost)) {}
  void run(std::size_t repetitions) override {
    for (std::size_t i = 0; i < repetitions; ++i) {
      now_ += Seconds(cost_(count_++));
    }
  }

 private:
  Seconds& now_;
  std::function<double(int)> cost_;
  int count_ = 0;
};

class Timing : public ::testing::Test {
 protected:
  /// Makes blocks disturbed (1,000 switches) as long as `disturbed_blocks_` lasts.
  LayerTiming timing() {
    return LayerTiming([this] { return now_; },
                       [this] {
                         measure::Disturbance::Reading reading;
                         reading.wall = now_;
                         if (++readings_ % 2 == 0 && disturbed_blocks_-- > 0) {
                           switches_ += 1000;
                         }
                         reading.involuntary_switches = switches_;
                         return reading;
                       },
                       monitor_,
                       pace_);
  }
  static results::Measurement row(results::Purpose purpose = results::Purpose::kFull) {
    results::Measurement result;
    result.key = {"v1:some"};
    result.variant = "impl=x";
    result.purpose = purpose;
    return result;
  }

  Seconds now_{5.0};
  int readings_ = 0;
  int disturbed_blocks_ = 0;
  std::int64_t switches_ = 0;
  BlockMonitor* monitor_ = nullptr;
  HostPaceSource pace_;
};

TEST_F(Timing, a_block_beside_which_the_host_is_slow_is_measured_again) {
  // Before and after each block: quiet; then a neighbour who is waited for once, and comes back.
  std::vector<double> paces{1.00, 1.02, 1.35, 1.01, 1.34, 1.01, 1.03};
  std::size_t asked = 0;
  pace_ = [&] { return Seconds(1e-5 * paces.at(asked++)); };
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  results::Measurement quiet = row();
  layer_timing.time(region, measure::SamplingPlan{}, 3, quiet);
  EXPECT_EQ(quiet.attempt, 1);
  EXPECT_FALSE(quiet.disturbance.disturbed);
  EXPECT_NEAR(quiet.readings.at(results::kHostPace).median, 1.01e-5, 1e-12);
  EXPECT_NEAR(quiet.readings.at(results::kHostPace).low, 1.00e-5, 1e-12);

  results::Measurement again = row();
  layer_timing.time(region, measure::SamplingPlan{}, 3, again);
  EXPECT_EQ(again.attempt, 2) << "the first attempt shared its core";
  EXPECT_FALSE(again.disturbance.disturbed);
  EXPECT_NEAR(again.readings.at(results::kHostPace).median, 1.02e-5, 1e-12)
      << "of the block that counts";
  EXPECT_EQ(asked, paces.size());
}

TEST_F(Timing, a_process_is_told_of_the_pace_that_it_never_saw) {
  int asked = 0;
  pace_ = [&asked] {
    ++asked;
    return Seconds(1.2e-5);
  };
  LayerTiming unaware = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  results::Measurement alone = row();
  unaware.time(region, measure::SamplingPlan{}, 1, alone);
  EXPECT_FALSE(alone.disturbance.disturbed);

  const auto start = std::chrono::steady_clock::now();
  LayerTiming aware = timing();
  aware.know_pace(std::nullopt);
  aware.know_pace(Seconds(1e-5));
  aware.know_pace(Seconds(2e-5));
  results::Measurement told = row();
  asked = 0;
  aware.time(region, measure::SamplingPlan{}, 1, told);
  EXPECT_TRUE(told.disturbance.disturbed);
  aware.time(region, measure::SamplingPlan{}, 1, told);
  const Seconds age = std::chrono::steady_clock::now() - start;
  // Each block asks once more before and once behind it than it pauses, for 10 ms each time.
  const Seconds waited = Seconds(0.01) * static_cast<double>(asked - 4);
  EXPECT_GE(waited, LayerTiming::kMinWaiting);
  EXPECT_LE(waited, LayerTiming::kMinWaiting + LayerTiming::kWaitingShare * age + Seconds(0.01))
      << "in all, not for each block";
}

TEST_F(Timing, work_that_times_itself_is_done_once_and_watched) {
  std::vector<double> paces{1.30, 1.00, 1.00, 1.40};
  std::size_t asked = 0;
  pace_ = [&] { return Seconds(1e-5 * paces.at(asked++)); };
  disturbed_blocks_ = 0;
  LayerTiming layer_timing = timing();
  layer_timing.know_pace(Seconds(1e-5));
  int times = 0;
  results::Measurement seen = row();
  seen.readings["of_an_earlier_one"] = {1.0, 1.0, 1.0, 1};
  layer_timing.watch([&] { ++times; }, seen);
  EXPECT_EQ(asked, 3U) << "a slow host is waited for";
  EXPECT_FALSE(seen.disturbance.disturbed);
  ASSERT_EQ(seen.readings.size(), 1U);
  EXPECT_NEAR(seen.readings.at(results::kHostPace).median, 1e-5, 1e-12);

  pace_ = nullptr;
  disturbed_blocks_ = 1;
  LayerTiming without_pace = timing();
  without_pace.watch([&] { ++times; }, seen);
  EXPECT_TRUE(seen.disturbance.disturbed) << "by its switches";
  EXPECT_TRUE(seen.readings.empty());
  EXPECT_EQ(times, 2) << "it is not repeated";
}

TEST_F(Timing, work_beside_which_a_neighbour_comes_is_disturbed) {
  std::vector<double> paces{1.00, 1.40};
  std::size_t asked = 0;
  pace_ = [&] { return Seconds(1e-5 * paces.at(asked++)); };
  LayerTiming layer_timing = timing();
  results::Measurement seen = row();
  layer_timing.watch([] {}, seen);
  EXPECT_TRUE(seen.disturbance.disturbed);
  EXPECT_NEAR(seen.readings.at(results::kHostPace).high, 1.4e-5, 1e-12);
}

TEST_F(Timing, races_do_not_ask_for_the_pace) {
  pace_ = []() -> Seconds { throw std::logic_error("asked"); };
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  results::Measurement result = row(results::Purpose::kRace);
  layer_timing.time(region, measure::SamplingPlan{}, 1, result);
  EXPECT_FALSE(result.readings.contains(results::kHostPace));
}

TEST(HostPace, takes_about_as_long_each_time) {
  LayerTiming::Pace pace(measure::steady_clock());
  Seconds fastest = pace.measure();
  for (int i = 0; i < 50; ++i) {
    fastest = std::min(fastest, pace.measure());
  }
  EXPECT_GT(fastest, Seconds(1e-6));
  EXPECT_LT(fastest, Seconds(1e-2)) << "it is measured beside every block";
}

TEST_F(Timing, a_block_on_a_device_that_was_held_back_is_measured_again) {
  const results::Reading cool{1.98e9, 1.98e9, 1.98e9, 1};
  ListedMonitor monitor(
      {{.readings = {{"sm_clock_hertz", {1.2e9, 1.2e9, 1.2e9, 1}}}, .disturbed = true, .fault = {}},
       {.readings = {{"sm_clock_hertz", cool}}, .disturbed = false, .fault = {}}});
  monitor_ = &monitor;
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  results::Measurement result = row();
  layer_timing.time(region, measure::SamplingPlan{}, 3, result);
  EXPECT_EQ(result.attempt, 2);
  EXPECT_FALSE(result.disturbance.disturbed);
  EXPECT_EQ(result.readings, (results::Readings{{"sm_clock_hertz", cool}}))
      << "of the block that counts";
  EXPECT_EQ(monitor.begun, 2);
}

TEST_F(Timing, a_row_that_is_timed_again_has_the_readings_of_then) {
  const results::Reading cool{45.0, 45.0, 45.0, 1};
  ListedMonitor monitor(
      {{.readings = {{"power_watts", cool}}, .disturbed = false, .fault = {}},
       {.readings = {{"sm_clock_hertz", cool}}, .disturbed = false, .fault = {}}});
  monitor_ = &monitor;
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  results::Measurement result = row();
  layer_timing.time(region, measure::SamplingPlan{}, 1, result);
  layer_timing.time(region, measure::SamplingPlan{}, 1, result);
  EXPECT_EQ(result.readings, (results::Readings{{"sm_clock_hertz", cool}}));
}

TEST_F(Timing, of_races_one_in_a_tenth_of_a_second_is_watched_and_every_other_row) {
  const results::Reading cool{45.0, 45.0, 45.0, 1};
  ListedMonitor monitor({{.readings = {{"power_watts", cool}}, .disturbed = false, .fault = {}}});
  monitor_ = &monitor;
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  const measure::SamplingPlan plan{.budget = Seconds(0.01)};
  const Seconds begin = now_;
  int races = 0;
  int with_readings = 0;
  for (; now_ - begin < Seconds(10.0); ++races) {
    results::Measurement result = row(results::Purpose::kRace);
    layer_timing.time(region, plan, 1, result);
    with_readings += result.readings.empty() ? 0 : 1;
  }
  EXPECT_EQ(monitor.begun, with_readings);
  const Seconds each = (now_ - begin) / static_cast<double>(races);
  const double expected = 10.0 / std::max(each, LayerTiming::kRaceWatch).count();
  EXPECT_NEAR(with_readings, expected, 0.5 * expected) << each.count() << " s each";
  for (const auto purpose : {results::Purpose::kFull, results::Purpose::kConfirm}) {
    results::Measurement result = row(purpose);
    layer_timing.time(region, plan, 1, result);
    EXPECT_FALSE(result.readings.empty());
  }
}

TEST_F(Timing, a_device_that_stays_held_back_leaves_a_disturbed_row) {
  ListedMonitor monitor({{.readings = {}, .disturbed = true, .fault = {}}});
  monitor_ = &monitor;
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  results::Measurement result = row();
  layer_timing.time(region, measure::SamplingPlan{}, 3, result);
  EXPECT_EQ(result.attempt, 3);
  EXPECT_TRUE(result.disturbance.disturbed);
  EXPECT_TRUE(result.outcome.timed());
}

TEST_F(Timing, a_row_during_which_the_device_erred_is_no_time) {
  ListedMonitor monitor({{.readings = {}, .disturbed = true, .fault = "Xid 48"}});
  monitor_ = &monitor;
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  results::Measurement result = row(results::Purpose::kRace);
  layer_timing.time(region, measure::SamplingPlan{}, 3, result);
  EXPECT_EQ(result.attempt, 1) << "again would be no better";
  EXPECT_EQ(result.outcome, (results::Outcome{results::Outcome::Kind::kCrashed, "Xid 48"}));
  EXPECT_EQ(result.attributes.at(results::kDeviceFault), "Xid 48");
}

TEST_F(Timing, fills_the_row) {
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  results::Measurement result = row();
  layer_timing.time(region, measure::SamplingPlan{}, 3, result);
  EXPECT_TRUE(result.outcome.ok());
  EXPECT_EQ(result.samples.size(), result.summary.n);
  EXPECT_NEAR(result.summary.median.count(), 1e-3, 1e-9);
  EXPECT_EQ(result.repetitions, 1);
  EXPECT_EQ(result.attempt, 1);
  EXPECT_FALSE(result.disturbance.disturbed);
  EXPECT_GT(result.started.time_since_epoch().count(), 0);
}

TEST_F(Timing, measures_a_disturbed_block_again) {
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  disturbed_blocks_ = 1;
  results::Measurement result = row();
  layer_timing.time(region, measure::SamplingPlan{}, 3, result);
  EXPECT_EQ(result.attempt, 2);
  EXPECT_FALSE(result.disturbance.disturbed);
}

TEST_F(Timing, marks_what_stays_disturbed) {
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  disturbed_blocks_ = 100;
  results::Measurement result = row();
  layer_timing.time(region, measure::SamplingPlan{}, 3, result);
  EXPECT_EQ(result.attempt, 3);
  EXPECT_TRUE(result.disturbance.disturbed);
  EXPECT_TRUE(result.outcome.timed());
}

TEST_F(Timing, loses_patience_with_a_host_that_stays_disturbed_until_it_is_quiet) {
  LayerTiming layer_timing = timing();
  CostlyRegion region(now_, [](int) { return 1e-3; });
  disturbed_blocks_ = 3 * 3 + 1;  // three rows of three attempts, one row of one
  std::vector<std::int64_t> attempts;
  for (int i = 0; i < 5; ++i) {
    results::Measurement result = row();
    layer_timing.time(region, measure::SamplingPlan{}, 3, result);
    attempts.push_back(result.attempt);
  }
  EXPECT_EQ(attempts, (std::vector<std::int64_t>{3, 3, 3, 1, 1}));
  disturbed_blocks_ = 1;
  results::Measurement result = row();
  layer_timing.time(region, measure::SamplingPlan{}, 3, result);
  EXPECT_EQ(result.attempt, 2) << "the fifth row was quiet: patient again";
}

TEST_F(Timing, calls_a_wide_interval_unstable_but_not_in_a_race) {
  CostlyRegion region(now_, [](int i) { return i % 2 == 0 ? 1e-3 : 2e-3; });
  LayerTiming layer_timing = timing();
  results::Measurement full = row();
  layer_timing.time(region, measure::SamplingPlan{}, 1, full);
  EXPECT_EQ(full.outcome.kind, results::Outcome::Kind::kUnstable);
  EXPECT_TRUE(full.outcome.timed());
  results::Measurement race = row(results::Purpose::kRace);
  layer_timing.time(region, measure::SamplingPlan{}, 1, race);
  EXPECT_TRUE(race.outcome.ok());
}

TEST_F(Timing, one_sample_is_unstable) {
  CostlyRegion region(now_, [](int) { return 10.0; });
  LayerTiming layer_timing = timing();
  results::Measurement result = row();
  layer_timing.time(region, measure::SamplingPlan{}, 1, result);
  EXPECT_EQ(result.outcome.kind, results::Outcome::Kind::kUnstable);
  EXPECT_EQ(result.outcome.reason, "only one sample within the budget");
}

}  // namespace
}  // namespace plumb::engine
