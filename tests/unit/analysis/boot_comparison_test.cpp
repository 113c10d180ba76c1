// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/boot_comparison.hpp"

#include <gmock/gmock.h>

#include <random>

namespace plumb::analysis {
namespace {

using ::testing::HasSubstr;

/// Boots a machine whose speed differs from boot to boot by 5%; each run has 0.3% noise.
class Machine {
 public:
  std::vector<BootComparison::Run> boots(std::size_t count,
                                         double first,
                                         double second,
                                         int runs = 1) {
    std::vector<BootComparison::Run> result;
    for (std::size_t i = 0; i < count; ++i) {
      const double speed = 1.0 + 0.05 * normal_(random_);
      const std::string boot = "boot" + std::to_string(++booted_);
      for (int run = 0; run < runs; ++run) {
        result.push_back({.boot = boot,
                          .run = boot + "/" + std::to_string(run),
                          .control = noisy(1e-3 * speed),
                          .times = {{"layers/a", noisy(2e-3 * first * speed)},
                                    {"layers/b", noisy(3e-3 * second * speed)}},
                          .failures = {}});
      }
    }
    return result;
  }

 private:
  double noisy(double value) { return value * (1.0 + 0.003 * normal_(random_)); }

  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  int booted_ = 0;
};

const MetricComparison& metric_of(const BootComparison& comparison, const std::string& series) {
  return *std::find_if(comparison.metrics.begin(),
                       comparison.metrics.end(),
                       [&](const MetricComparison& metric) { return metric.series == series; });
}

TEST(BootComparison, the_control_divides_the_machine_out) {
  Machine machine;
  const auto before = machine.boots(6, 1.0, 1.0);
  const auto after = machine.boots(6, 1.03, 1.0);
  const BootComparison found = compare_boots(before, after, {}, {});
  EXPECT_EQ(found.verdict, ComparisonVerdict::kRegressed);
  const MetricComparison& slow = metric_of(found, "layers/a");
  EXPECT_EQ(slow.verdict, ComparisonVerdict::kRegressed);
  EXPECT_NEAR(*slow.ratio, 1.03, 0.01);
  EXPECT_EQ(metric_of(found, "layers/b").verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(found.metrics.front().series, "layers/a") << "what changed comes first";
  EXPECT_EQ(found.baseline.size(), 6U);
  // Without the control five percent of the machine lie over three of the layer.
  auto blind_before = before;
  auto blind_after = after;
  for (auto* runs : {&blind_before, &blind_after}) {
    for (BootComparison::Run& run : *runs) {
      run.control = 1e-3;
    }
  }
  const BootComparison blind = compare_boots(blind_before, blind_after, {}, {});
  const MetricComparison& hidden = metric_of(blind, "layers/a");
  EXPECT_GT(hidden.high - hidden.low, 5 * (slow.high - slow.low));
}

TEST(BootComparison, the_boot_is_the_unit_not_the_run) {
  Machine machine;
  const auto before = machine.boots(2, 1.0, 1.0, 10);
  const auto after = machine.boots(2, 1.5, 1.0, 10);
  const BootComparison found = compare_boots(before, after, {}, {});
  EXPECT_EQ(found.baseline.size(), 2U);
  EXPECT_EQ(found.baseline.front().runs.size(), 10U);
  EXPECT_EQ(found.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_THAT(metric_of(found, "layers/a").reason, HasSubstr("2 boots of the baseline"));
}

TEST(BootComparison, what_no_boot_of_the_candidate_can_do_is_broken) {
  Machine machine;
  const auto before = machine.boots(5, 1.0, 1.0);
  auto after = machine.boots(5, 1.0, 1.0);
  for (BootComparison::Run& run : after) {
    run.times.erase("layers/b");
    run.failures["layers/b"] = "crashed: signal 11";
  }
  const BootComparison found = compare_boots(before, after, {}, {});
  EXPECT_EQ(found.verdict, ComparisonVerdict::kBroken);
  EXPECT_THAT(metric_of(found, "layers/b").reason, HasSubstr("signal 11"));
  after.front().failures.clear();
  EXPECT_NE(compare_boots(before, after, {}, {}).verdict, ComparisonVerdict::kBroken)
      << "one boot did not try it";
}

TEST(BootComparison, false_alarms_keep_their_level) {
  Machine machine;
  int alarms = 0;
  constexpr int kTrials = 400;
  for (int i = 0; i < kTrials; ++i) {
    const auto before = machine.boots(5, 1.0, 1.0);
    const auto after = machine.boots(5, 1.0, 1.0);
    const MetricComparison metric = metric_of(compare_boots(before, after, {}, {}), "layers/a");
    alarms += *metric.q < 0.05;
  }
  EXPECT_LE(alarms, 0.08 * kTrials) << "q of two layers, so at most 5 %";
}

}  // namespace
}  // namespace plumb::analysis
