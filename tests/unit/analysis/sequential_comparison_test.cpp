// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/analysis/compare/rounds/paired_comparison.hpp"
#include "tests/support/noise_pairs.hpp"

namespace plumb::analysis {
namespace {

using ::testing::ElementsAre;

/// Looks at 6, 10, 15 and 20 pairs.
const SequentialRule& rule() {
  static const SequentialRule kRule;
  return kRule;
}

SequentialRule::Limits without_floor(double level) {
  return {.kind = MetricKind::kEndToEnd, .change = {.level = level, .floor = 0.0, .margin = 0.0}};
}

double alarms(double level, int trials, std::uint64_t seed) {
  NoisePairs source(seed);
  int found = 0;
  for (int i = 0; i < trials; ++i) {
    const SequentialRule::Pairs metric = source.staged("m", 1.0, 6, 20);
    const auto verdict = rule().judge({&metric, 1}, without_floor(level))[0].metric.verdict;
    found += verdict == ComparisonVerdict::kRegressed || verdict == ComparisonVerdict::kImproved;
  }
  return static_cast<double>(found) / trials;
}

TEST(SequentialComparison, false_alarms_are_nominal_looks_included) {
  const double five = alarms(0.05, 4000, 11);
  EXPECT_GE(five, 0.02);
  EXPECT_LE(five, 0.07);
  const double one = alarms(0.01, 4000, 12);
  EXPECT_GE(one, 0.003);
  EXPECT_LE(one, 0.017);
}

TEST(SequentialComparison, finds_two_percent_among_forty_layers) {
  NoisePairs source(5);
  int found = 0;
  int wrong = 0;
  constexpr int kFamilies = 100;
  for (int i = 0; i < kFamilies; ++i) {
    std::vector<SequentialRule::Pairs> family;
    for (int layer = 0; layer < 40; ++layer) {
      family.push_back(source.staged("l", layer == 0 ? 1.02 : 1.0, 6, 20));
    }
    const auto results = rule().judge(family,
                                      {.kind = MetricKind::kLayer,
                                       .change = {.level = 0.05, .floor = 0.0, .margin = 0.0},
                                       .moderated = true});
    found += results[0].metric.verdict == ComparisonVerdict::kRegressed;
    for (std::size_t layer = 1; layer < results.size(); ++layer) {
      wrong += results[layer].metric.verdict == ComparisonVerdict::kRegressed ||
               results[layer].metric.verdict == ComparisonVerdict::kImproved;
    }
  }
  EXPECT_GE(found, 90);
  EXPECT_LE(wrong, 15);  // a false discovery rate of 5% lets through about one in 20 found
}

TEST(SequentialComparison, confirms_on_new_pairs_only) {
  // The screening says 10% slower; the new pairs say that nothing changed.
  NoisePairs source(3);
  SequentialRule::Pairs metric = source.staged("m", 1.10, 6, 6);
  const SequentialRule::Pairs quiet = source.staged("m", 1.0, 0, 14);
  metric.pairs.baseline.insert(
      metric.pairs.baseline.end(), quiet.pairs.baseline.begin(), quiet.pairs.baseline.end());
  metric.pairs.candidate.insert(
      metric.pairs.candidate.end(), quiet.pairs.candidate.begin(), quiet.pairs.candidate.end());
  const auto result =
      rule().judge({&metric, 1}, {.kind = MetricKind::kEndToEnd, .change = {.floor = 0.01}})[0];
  EXPECT_NE(result.metric.verdict, ComparisonVerdict::kRegressed);
}

TEST(SequentialComparison, stops_early_either_way_and_reports_what_it_has_seen) {
  NoisePairs source(4);
  const SequentialRule::Pairs slow = source.staged("slow", 1.30, 6, 10);
  const SequentialRule::Pairs same = source.staged("same", 1.0, 6, 6);
  const SequentialRule::Limits limits{.kind = MetricKind::kLayer,
                                      .change = {.level = 0.05, .floor = 0.02, .margin = 0.03}};
  const std::vector<SequentialRule::Pairs> family{slow, same};
  const auto results = rule().judge(family, limits);
  EXPECT_EQ(results[0].metric.verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(results[0].decided_at, 10U);
  EXPECT_FALSE(results[0].open);
  EXPECT_NEAR(*results[0].metric.ratio, 1.30, 0.03);
  EXPECT_LT(*results[0].metric.q, 0.05);
  EXPECT_EQ(results[1].metric.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(results[1].decided_at, 6U);
  EXPECT_FALSE(results[1].open);
}

TEST(SequentialComparison, a_metric_may_have_a_larger_floor_than_its_family) {
  NoisePairs source(5);
  std::vector<SequentialRule::Pairs> family{source.staged("own", 1.05, 6, 10),
                                            source.staged("family's", 1.05, 6, 10)};
  family[0].floor = {0.10, MetricComparison::Floor::Source::kCalibrated};
  const auto results = rule().judge(
      family,
      {.kind = MetricKind::kLayer, .change = {.level = 0.05, .floor = 0.02, .margin = 0.02}});
  EXPECT_EQ(results[0].metric.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(results[1].metric.verdict, ComparisonVerdict::kRegressed);
}

TEST(SequentialComparison, is_inconclusive_with_what_it_could_have_found_at_the_cap) {
  NoisePairs source(6);
  SequentialRule::Pairs noisy = source.staged("noisy", 1.0, 6, 20);
  for (std::size_t i = 0; i < noisy.pairs.candidate.size(); ++i) {
    noisy.pairs.candidate[i] *= i % 2 == 0 ? 1.2 : 0.8;
  }
  const auto result =
      rule().judge({&noisy, 1}, {.kind = MetricKind::kEndToEnd, .change = {.floor = 0.01}})[0];
  EXPECT_EQ(result.metric.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_FALSE(result.open);
  EXPECT_GT(*result.metric.mde, 0.1);
}

TEST(SequentialComparison, asks_for_more_pairs_until_then) {
  NoisePairs source(8);
  const std::vector<SequentialRule::Pairs> family{source.staged("m", 1.015, 6, 6),
                                                  {{"none", {}, {}}, 0},
                                                  {{"zero", {0.0, 1.0, 1.0}, {1.0, 1.0, 1.0}}, 3}};
  const auto results =
      rule().judge(family, {.kind = MetricKind::kLayer, .change = {.floor = 0.01}});
  for (const SequentialRule::Result& result : results) {
    EXPECT_EQ(result.metric.verdict, ComparisonVerdict::kInconclusive);
    EXPECT_TRUE(result.open);
  }
  EXPECT_FALSE(results[1].metric.reason.empty());
  EXPECT_FALSE(results[2].metric.reason.empty());
}

TEST(SequentialDesign, spreads_its_looks) {
  EXPECT_THAT(design_for(20).looks, ElementsAre(6, 10, 15, 20));
  EXPECT_THAT(design_for(40).looks, ElementsAre(12, 20, 30, 40));
  EXPECT_THAT(design_for(8).looks, ElementsAre(3, 6, 8));
  EXPECT_THAT(design_for(6).looks, ElementsAre(3, 6));
}

}  // namespace
}  // namespace plumb::analysis
