// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/paired_comparison.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/noise_pairs.hpp"

namespace plumb::analysis {
namespace {

using ::testing::HasSubstr;

bool changed(ComparisonVerdict verdict) {
  return verdict == ComparisonVerdict::kRegressed || verdict == ComparisonVerdict::kImproved;
}

double power(std::size_t layers, int questions) {
  NoisePairs rounds(3);
  int found = 0;
  for (int i = 0; i < questions; ++i) {
    const PairedComparison answer = compare_pairs(rounds.question(layers, 1.02), {});
    found += answer.metrics[1].verdict == ComparisonVerdict::kRegressed ? 1 : 0;
  }
  return static_cast<double>(found) / questions;
}

TEST(PairedComparison, in_sequence_a_change_is_confirmed_by_new_pairs_and_the_rest_ends_early) {
  NoisePairs rounds(7);
  const PairedComparison answer = compare_pairs_in_sequence(
      rounds.question(5, 1.05, 20), {.layer_floor = 0.02}, SequentialRule());
  EXPECT_EQ(answer.metrics[1].series, "layers/layer0");
  EXPECT_EQ(answer.metrics[1].verdict, ComparisonVerdict::kRegressed);
  for (std::size_t i = 2; i < answer.metrics.size(); ++i) {
    EXPECT_FALSE(changed(answer.metrics[i].verdict)) << answer.metrics[i].series;
  }
  EXPECT_EQ(answer.verdict, ComparisonVerdict::kRegressed);
  EXPECT_TRUE(answer.attribution);
  // What is seen in the screening alone is no change.
  PairedComparison::Question question = rounds.question(5, 1.0, 20);
  for (std::size_t round = 0; round < 6; ++round) {
    question.layers[0].candidate[round] *= 1.05;
  }
  EXPECT_FALSE(changed(compare_pairs_in_sequence(question, {.layer_floor = 0.02}, SequentialRule())
                           .metrics[1]
                           .verdict));
  question.layers[0].candidate[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(compare_pairs_in_sequence(question, {}, SequentialRule()).metrics[1].reason,
              HasSubstr("round 3"));
}

TEST(PairedComparison, ratio_interval_and_verdict_of_a_clear_change) {
  NoisePairs rounds(1);
  PairedComparison::Question question;
  question.id = "clear";
  question.end_to_end = rounds.make("", 2e-3, 1.10);
  const PairedComparison answer = compare_pairs(question, {});
  ASSERT_EQ(answer.metrics.size(), 1U);
  const MetricComparison& metric = answer.metrics[0];
  EXPECT_EQ(metric.series, "end_to_end");
  EXPECT_NEAR(*metric.ratio, 1.10, 0.01);
  EXPECT_LT(metric.low, *metric.ratio);
  EXPECT_GT(metric.high, *metric.ratio);
  EXPECT_LT(*metric.q, 1e-6);
  EXPECT_EQ(metric.verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(answer.verdict, ComparisonVerdict::kRegressed);
  std::swap(question.end_to_end->baseline, question.end_to_end->candidate);
  EXPECT_EQ(compare_pairs(question, {}).verdict, ComparisonVerdict::kImproved);
}

TEST(PairedComparison, equal_sides_are_equivalent_where_the_interval_is_tight) {
  NoisePairs rounds(2);
  PairedComparison::Question question;
  question.end_to_end = rounds.make("", 1e-3, 1.0, 40);
  EXPECT_EQ(compare_pairs(question, {}).verdict, ComparisonVerdict::kEquivalent);
  question.end_to_end = rounds.make("", 1e-3, 1.0, 3);
  EXPECT_EQ(compare_pairs(question, {}).verdict, ComparisonVerdict::kInconclusive);
}

TEST(PairedComparison, a_change_below_the_floor_is_none) {
  NoisePairs rounds(4);
  PairedComparison::Question question;
  question.end_to_end = rounds.make("", 1e-3, 1.02, 40);
  ComparisonLimits limits;
  EXPECT_EQ(compare_pairs(question, limits).verdict, ComparisonVerdict::kRegressed);
  limits.end_to_end_floor = 0.05;
  EXPECT_EQ(compare_pairs(question, limits).verdict, ComparisonVerdict::kEquivalent);
}

TEST(PairedComparison, bad_samples_are_inconclusive_and_say_why) {
  const auto reason = [](std::vector<double> baseline, std::vector<double> candidate) {
    PairedComparison::Question question;
    question.end_to_end = PairedSamples{"", std::move(baseline), std::move(candidate)};
    const PairedComparison answer = compare_pairs(question, {});
    EXPECT_EQ(answer.verdict, ComparisonVerdict::kInconclusive);
    EXPECT_FALSE(answer.metrics[0].ratio.has_value());
    return answer.metrics[0].reason;
  };
  EXPECT_THAT(reason({1.0, 1.0, 1.0}, {1.0, 0.0, 1.0}), HasSubstr("round 1 has the time 0 s"));
  EXPECT_THAT(reason({1.0, std::nan(""), 1.0}, {1.0, 1.0, 1.0}), HasSubstr("round 1"));
  EXPECT_THAT(reason({1.0, 1.0}, {1.0, 1.0}), HasSubstr("2 pairs"));
  EXPECT_THAT(reason({1.0, 1.0, 1.0}, {1.0, 1.0}), HasSubstr("3 rounds"));
  EXPECT_THAT(reason({}, {}), HasSubstr("0 pairs"));
}

TEST(PairedComparison, samples_without_any_noise) {
  PairedComparison::Question question;
  question.end_to_end = PairedSamples{"", std::vector<double>(5, 1.0), std::vector<double>(5, 1.0)};
  EXPECT_EQ(compare_pairs(question, {}).verdict, ComparisonVerdict::kEquivalent);
  question.end_to_end->candidate.assign(5, 1.25);
  EXPECT_EQ(compare_pairs(question, {}).verdict, ComparisonVerdict::kRegressed);
}

TEST(PairedComparison, the_change_is_attributed_to_its_layer) {
  NoisePairs rounds(5);
  const PairedComparison answer = compare_pairs(rounds.question(8, 1.30), {});
  EXPECT_EQ(answer.verdict, ComparisonVerdict::kRegressed);
  ASSERT_TRUE(answer.attribution.has_value());
  EXPECT_NEAR(answer.attribution->layers.at("layer0"), 3e-5, 2e-6);
  double sum = answer.attribution->unexplained_seconds;
  for (const auto& [name, seconds] : answer.attribution->layers) {
    sum += seconds;
  }
  EXPECT_NEAR(sum, answer.attribution->delta_seconds, 1e-12);
}

TEST(PairedComparison, cost_that_moves_is_no_regression) {
  NoisePairs rounds(6);
  PairedComparison::Question question;
  question.layers = {rounds.make("up", 1e-3, 1.10),
                     rounds.make("down", 1e-3, 0.90),
                     rounds.make("same", 1e-3, 1.0)};
  question.end_to_end = rounds.make("", 3e-3, 1.0, 20);
  const PairedComparison answer = compare_pairs(question, {});
  EXPECT_EQ(answer.metrics[1].verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(answer.metrics[2].verdict, ComparisonVerdict::kImproved);
  EXPECT_FALSE(changed(answer.verdict));
}

TEST(PairedComparison, one_change_of_two_percent_is_seen_among_many_metrics) {
  EXPECT_GE(power(40, 200), 0.9);
  EXPECT_GE(power(1000, 20), 0.75);
}

TEST(PairedComparison, without_a_change_alarms_are_as_rare_as_promised) {
  constexpr int kQuestions = 2000;
  for (const auto& [alpha, low, high] :
       {std::tuple(0.05, 0.02, 0.07), std::tuple(0.01, 0.003, 0.017)}) {
    NoisePairs rounds(8);
    ComparisonLimits limits;
    limits.alpha = alpha;
    int whole = 0;
    int layers = 0;
    for (int i = 0; i < kQuestions; ++i) {
      const PairedComparison answer = compare_pairs(rounds.question(10, 1.0), limits);
      whole += changed(answer.metrics[0].verdict) ? 1 : 0;
      for (std::size_t k = 1; k < answer.metrics.size(); ++k) {
        if (changed(answer.metrics[k].verdict)) {
          ++layers;
          break;
        }
      }
    }
    EXPECT_GE(whole, low * kQuestions) << alpha;
    EXPECT_LE(whole, high * kQuestions) << alpha;
    EXPECT_LE(layers, 0.07 * kQuestions) << "at a false-discovery rate of 5%";
  }
}

}  // namespace
}  // namespace plumb::analysis
