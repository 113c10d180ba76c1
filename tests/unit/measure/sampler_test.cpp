// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/sampler.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace plumb::measure {
namespace {

/// Lets time pass only where the script says so: each execution costs what `cost` says of its
/// number.
class ScriptedRegion : public TimedRegion {
 public:
  explicit ScriptedRegion(std::function<double(std::size_t execution)> cost)
      : cost_(std::move(cost)) {}
  void run(std::size_t repetitions) override {
    for (std::size_t i = 0; i < repetitions; ++i) {
      now += Seconds(cost_(executions++));
    }
  }
  void before_sample() override {
    ++prepared;
    now += preparation;
  }
  Clock clock() {
    return [this] { return now; };
  }

  Seconds now{1000.0};
  Seconds preparation{0.0};
  std::size_t executions = 0;
  std::size_t prepared = 0;

 private:
  std::function<double(std::size_t)> cost_;
};

SamplingPlan no_warm_up() {
  SamplingPlan plan;
  plan.warm_up_at_most = Seconds(0.0);
  return plan;
}

TEST(Sampler, stops_as_soon_as_the_interval_is_tight) {
  ScriptedRegion region([](std::size_t) { return 0.001; });
  const Samples samples = sample(region, SamplingPlan{}, region.clock());
  EXPECT_TRUE(samples.converged);
  EXPECT_EQ(samples.seconds.size(), 7U);
  EXPECT_EQ(samples.repetitions, 1U);
  for (const Seconds each : samples.seconds) {
    EXPECT_NEAR(each.count(), 0.001, 1e-9);
  }
}

/// Region with a clock of its own, as a GPU has: 250 executions in each sample, whatever is asked
/// for.
class OwnClockRegion : public ScriptedRegion, public TimedRegion::OwnClock {
 public:
  OwnClockRegion() : ScriptedRegion([](std::size_t) { return 0.0; }) {}
  [[nodiscard]] bool has_clock() const override { return true; }
  TimedRegion::OwnClock::Sample own_sample() override {
    now += Seconds(0.5);  // launching and waiting, which are not in the sample
    return {Seconds(4e-6), Seconds(5e-6), 250};
  }
};

TEST(Sampler, takes_samples_of_the_regions_own_clock_as_they_are) {
  OwnClockRegion region;
  const Samples samples = sample(region, SamplingPlan{}, region.clock());
  EXPECT_TRUE(samples.converged);
  EXPECT_EQ(samples.repetitions, 250U);
  EXPECT_EQ(region.executions, 0U) << "run() is not timed";
  for (const Seconds each : samples.seconds) {
    EXPECT_DOUBLE_EQ(each.count(), 4e-6);
  }
}

TEST(Sampler, times_short_executions_in_batches_that_last_long_enough) {
  ScriptedRegion region([](std::size_t) { return 100e-9; });
  const Samples samples = sample(region, SamplingPlan{}, region.clock());
  EXPECT_GE(static_cast<double>(samples.repetitions) * 100e-9, 20e-6);
  EXPECT_LE(samples.repetitions, 230U);
  EXPECT_NEAR(samples.seconds.front().count(), 100e-9, 1e-12);
}

TEST(Sampler, a_clock_that_stands_still_ends_too) {
  ScriptedRegion region([](std::size_t) { return 0.0; });
  SamplingPlan plan = no_warm_up();
  plan.samples_at_most = 50;
  plan.samples_at_least = 50;
  const Samples samples = sample(region, plan, region.clock());
  EXPECT_EQ(samples.seconds.size(), 50U);
}

TEST(Sampler, warms_up_until_executions_stop_getting_faster) {
  // 30 executions that get faster by 5% each, then a steady 1 ms.
  ScriptedRegion region([](std::size_t i) {
    double cost = 0.001;
    for (std::size_t k = i; k < 30; ++k) {
      cost *= 1.05;
    }
    return cost;
  });
  const Samples samples = sample(region, SamplingPlan{}, region.clock());
  for (const Seconds each : samples.seconds) {
    EXPECT_NEAR(each.count(), 0.001, 1e-9) << "a sample from the warm-up";
  }
}

TEST(Sampler, warm_up_ends_at_its_limit) {
  double cost = 0.01;
  ScriptedRegion region([&](std::size_t) { return cost *= 0.97; });  // never settles
  SamplingPlan plan;
  plan.warm_up_at_most = Seconds(0.05);
  plan.samples_at_least = 1;
  plan.samples_at_most = 1;
  const Samples samples = sample(region, plan, region.clock());
  EXPECT_LT(samples.elapsed.count(), 0.08);
}

TEST(Sampler, without_warm_up_each_sample_is_one_prepared_execution) {
  ScriptedRegion region([](std::size_t) { return 1e-6; });
  region.preparation = Seconds(0.02);  // a flush: outside the timed part
  SamplingPlan plan = no_warm_up();
  plan.samples_at_most = 10;
  plan.relative_half_width = 0.0;
  const Samples samples = sample(region, plan, region.clock());
  EXPECT_EQ(samples.repetitions, 1U);
  EXPECT_EQ(region.executions, samples.seconds.size());
  EXPECT_EQ(region.prepared, samples.seconds.size());
  EXPECT_NEAR(samples.seconds.front().count(), 1e-6, 1e-9);
}

TEST(Sampler, noisy_samples_go_on_until_the_budget_is_used) {
  ScriptedRegion region([](std::size_t i) { return i % 2 == 0 ? 0.001 : 0.002; });
  SamplingPlan plan;
  plan.budget = Seconds(0.05);
  const Samples samples = sample(region, plan, region.clock());
  EXPECT_FALSE(samples.converged);
  // 50 ms at 1.5 ms each
  EXPECT_NEAR(static_cast<double>(samples.seconds.size()), 34.0, 2.0);
}

TEST(Sampler, long_executions_end_at_four_budgets_with_few_samples) {
  ScriptedRegion region([](std::size_t) { return 0.1; });
  SamplingPlan plan = no_warm_up();
  plan.budget = Seconds(0.05);
  const Samples samples = sample(region, plan, region.clock());
  EXPECT_EQ(samples.seconds.size(), 2U) << "0.1 s each, four times 0.05 s";
  EXPECT_FALSE(samples.converged) << "two samples have no 95% interval";
}

TEST(Sampler, a_lonely_minimum_does_not_converge) {
  // A tight interval around 1 ms with one sample at half of it.
  ScriptedRegion region([](std::size_t i) { return i == 3 ? 0.0005 : 0.001; });
  SamplingPlan plan = no_warm_up();
  plan.samples_at_least = 9;
  plan.budget = Seconds(0.05);
  const Samples samples = sample(region, plan, region.clock());
  EXPECT_FALSE(samples.converged);
  EXPECT_GE(samples.seconds.size(), 49U);
}

TEST(Sampler, keeps_samples_in_time_order) {
  ScriptedRegion region([](std::size_t i) { return 0.001 * static_cast<double>(10 - i); });
  SamplingPlan plan = no_warm_up();
  plan.samples_at_most = 3;
  plan.samples_at_least = 3;
  const Samples samples = sample(region, plan, region.clock());
  ASSERT_EQ(samples.seconds.size(), 3U);
  EXPECT_NEAR(samples.seconds[0].count(), 0.010, 1e-9);
  EXPECT_NEAR(samples.seconds[1].count(), 0.009, 1e-9);
  EXPECT_NEAR(samples.seconds[2].count(), 0.008, 1e-9);
}

TEST(Sampler, measures_the_timer_by_its_steps) {
  // Every third reading moves on by 30 ns.
  int reads = 0;
  const TimerFacts facts =
      measure_timer([&] { return Seconds(static_cast<double>(reads++ / 3) * 30e-9); });
  EXPECT_NEAR(facts.tick.count(), 30e-9, 1e-12);
  EXPECT_NEAR(facts.read.count(), 10e-9, 1e-10);
}

TEST(Sampler, a_timer_without_steps_has_no_tick) {
  const TimerFacts facts = measure_timer([] { return Seconds(5.0); });
  EXPECT_EQ(facts.tick, Seconds(0.0));
  EXPECT_EQ(facts.read, Seconds(0.0));
}

TEST(Sampler, the_real_clock_moves_forward) {
  const TimerFacts facts = measure_timer(steady_clock());
  EXPECT_GT(facts.tick.count(), 0.0);
  EXPECT_LT(facts.tick.count(), 0.01);
}

}  // namespace
}  // namespace plumb::measure
