// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/aa_study.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

using ::testing::SizeIs;

/// Makes a metric of a millisecond with normal noise of known parts; seeded.
class NoisyStack {
 public:
  double within = 0.01;
  double between = 0.005;
  double daily = 0.0;
  int days = 1;
  int pairs = 40;  ///< a day
  int samples = 10;

  NoiseReport::Study::Metric metric(const std::string& series) {
    NoiseReport::Study::Metric result{
        .series = series, .kind = MetricKind::kLayer, .pairs = {}, .resolution = 0.0};
    for (int day = 0; day < days; ++day) {
      const double of_day = daily * normal_(random_);
      for (int pair = 0; pair < pairs; ++pair) {
        auto first = process(day, of_day);
        auto second = process(day, of_day);
        result.pairs.emplace_back(std::move(first), std::move(second));
      }
    }
    return result;
  }

 private:
  NoiseReport::Study::Metric::Process process(int day, double of_day) {
    NoiseReport::Study::Metric::Process result{"day" + std::to_string(day), {}};
    const double of_process = between * normal_(random_);
    for (int i = 0; i < samples; ++i) {
      result.samples.push_back(1e-3 * std::exp(of_day + of_process + within * normal_(random_)));
    }
    return result;
  }

  std::mt19937_64 random_{11};
  std::normal_distribution<double> normal_;
};

std::vector<NoiseReport::Study::Metric> metrics(NoisyStack& stack, int count) {
  std::vector<NoiseReport::Study::Metric> result;
  for (int i = 0; i < count; ++i) {
    result.push_back(stack.metric("layers/" + std::to_string(i)));
  }
  return result;
}

TEST(AaStudy, tells_the_parts_of_variance_apart) {
  NoisyStack stack;
  stack.daily = 0.02;
  stack.days = 60;
  stack.pairs = 10;
  const NoiseReport::Study::MetricNoise noise =
      calibrate_noise({{stack.metric("layers/a")}}, {.comparisons = 10}).metrics.at(0);
  EXPECT_NEAR(noise.within, 0.01, 0.0005);
  EXPECT_NEAR(noise.between, 0.005, 0.0005);
  ASSERT_TRUE(noise.daily.has_value());
  EXPECT_NEAR(*noise.daily, 0.02, 0.004) << "60 days";
  EXPECT_NEAR(noise.median, 1e-3, 1e-5);
  EXPECT_NEAR(noise.autocorrelation, -0.1, 0.03) << "−1/n of independent samples around their mean";
  EXPECT_EQ(noise.pairs, 600U);
  EXPECT_EQ(noise.days, 60U);
}

TEST(AaStudy, by_hand) {
  // ln times 0, 2 and 4, 6 in one pair: within 1+1+1+1 over 2 degrees; means 1 and 5, variance 8;
  // between 8 − 2/2.
  const auto process = [](double one, double two) {
    return NoiseReport::Study::Metric::Process{"d", {std::exp(one), std::exp(two)}};
  };
  NoiseReport::Study::Metric metric{
      .series = "layers/a", .kind = MetricKind::kLayer, .pairs = {}, .resolution = 0.0};
  for (int i = 0; i < 5; ++i) {
    metric.pairs.emplace_back(process(0, 2), process(4, 6));
  }
  const NoiseReport::Study::MetricNoise noise =
      calibrate_noise({{metric}}, {.comparisons = 1}).metrics.at(0);
  EXPECT_NEAR(noise.within, std::sqrt(2.0), 1e-12);
  // Ten processes in one day: five means of 1, five of 5: 40 over 9 degrees.
  EXPECT_NEAR(noise.between, std::sqrt(40.0 / 9.0 - 1.0), 1e-12);
  EXPECT_FALSE(noise.daily.has_value()) << "one day says nothing of days";
}

TEST(AaStudy, floors_follow_the_noise_and_the_clock) {
  NoisyStack quiet;
  quiet.within = quiet.between = 0.001;
  NoisyStack noisy;
  noisy.between = 0.02;
  NoiseReport::Study::Metric coarse = quiet.metric("layers/coarse");
  coarse.resolution = 0.05e-3;
  const NoiseReport::Study result = calibrate_noise(
      {{quiet.metric("layers/quiet"), noisy.metric("layers/noisy"), coarse}}, {.comparisons = 1});
  EXPECT_DOUBLE_EQ(result.metrics[0].floor, 0.02);
  EXPECT_NEAR(result.metrics[1].floor, 3.0 * result.metrics[1].process, 1e-12);
  EXPECT_GT(result.metrics[1].floor, 0.05);
  EXPECT_NEAR(result.metrics[2].floor, 0.05, 0.001);
}

TEST(AaStudy, a_stack_compared_with_itself_stays_in_the_band) {
  NoisyStack stack;
  const std::vector<NoiseReport::Study::Metric> twenty = metrics(stack, 20);
  const NoiseReport::Study result = calibrate_noise(twenty, {});
  ASSERT_THAT(result.alarms, SizeIs(2));
  EXPECT_EQ(result.comparisons, 1000U);
  for (const NoiseReport::Study::FalsePositiveRate& rate : result.alarms) {
    EXPECT_TRUE(rate.in_band()) << rate.alpha << ": " << rate.rate;
  }
  EXPECT_NEAR(result.alarms[1].low, 0.003, 0.0011) << "binomial(1000, 1%)";
  EXPECT_NEAR(result.alarms[1].high, 0.019, 0.0011);
  EXPECT_LE(result.family_alarms, 0.07);
  ASSERT_THAT(result.power, SizeIs(3));
  EXPECT_LT(result.power[0].found, result.power[1].found);
  EXPECT_GE(result.power[2].found, 0.99) << "5% in 0.6% noise";
  EXPECT_LE(result.power[2].least, result.power[2].found);
  const NoiseReport::Study::Plan small{.comparisons = 50};
  EXPECT_EQ(calibrate_noise(twenty, small).alarms[0].rate,
            calibrate_noise(twenty, small).alarms[0].rate)
      << "seeded";
}

TEST(AaStudy, half_measured_pairs_are_left_out) {
  NoisyStack stack;
  stack.pairs = 6;
  NoiseReport::Study::Metric metric = stack.metric("layers/a");
  metric.pairs[0].second.samples.clear();
  EXPECT_EQ(calibrate_noise({{metric}}, {.comparisons = 1}).metrics.at(0).pairs, 5U);
  metric.pairs[1].first.samples[0] = 0.0;
  EXPECT_THROW(static_cast<void>(calibrate_noise({{metric}}, {})), Error);
}

}  // namespace
}  // namespace plumb::analysis
