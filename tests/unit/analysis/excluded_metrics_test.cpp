// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/analysis/report/reports.hpp"

namespace plumb::analysis {
namespace {

MetricComparison metric(const std::string& model, ComparisonVerdict verdict) {
  MetricComparison each;
  each.series = "models/" + model + "/end_to_end/plain/single_stream";
  each.kind = MetricKind::kEndToEnd;
  each.model = model;
  each.decides = true;
  each.verdict = verdict;
  each.ratio = verdict == ComparisonVerdict::kRegressed ? 1.5 : 1.0;
  each.baseline = 1.0;
  each.candidate = *each.ratio;
  return each;
}

RunComparison regressed() {
  RunComparison comparison;
  comparison.verdict = ComparisonVerdict::kRegressed;
  comparison.metrics = {metric("lenet|1|f32|", ComparisonVerdict::kRegressed),
                        metric("vgg16|1|f32|", ComparisonVerdict::kEquivalent)};
  MetricComparison layer;
  layer.series = "layers/v1:relu";
  layer.kind = MetricKind::kLayer;
  layer.verdict = ComparisonVerdict::kBroken;
  comparison.metrics.push_back(layer);
  comparison.findings = {{"gone", "", {"v1:relu"}, {}, 1.0},
                         {"slower", "", {"v1:relu", "v1:conv"}, {}, 1.0}};
  return comparison;
}

TEST(ExcludedMetrics, decide_nothing_and_are_kept) {
  RunComparison comparison = regressed();
  const auto applied = apply_exclusions(
      {{"lenet|*", "known", "", "2027-01-31"}, {"v1:relu", "known too", "", "2027-01-31"}},
      "2027-01-31",
      {},
      comparison);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(comparison.metrics.size(), 1U);
  ASSERT_EQ(applied.size(), 2U);
  ASSERT_EQ(applied[0].metrics.size(), 1U);
  EXPECT_EQ(applied[0].metrics[0].verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(applied[1].metrics.size(), 1U);
  ASSERT_EQ(comparison.findings.size(), 1U);
  EXPECT_EQ(comparison.findings[0].layers, std::vector<std::string>{"v1:conv"});
}

TEST(ExcludedMetrics, are_none_once_the_exclusion_expired) {
  RunComparison comparison = regressed();
  comparison.metrics.pop_back();
  const auto applied =
      apply_exclusions({{"lenet|*", "known", "", "2027-01-31"}}, "2027-02-01", {}, comparison);
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(comparison.metrics.size(), 2U);
  ASSERT_EQ(applied.size(), 1U);
  EXPECT_TRUE(applied[0].expired);
  EXPECT_TRUE(applied[0].metrics.empty());
}

TEST(ExcludedMetrics, leave_a_comparison_of_nothing_inconclusive) {
  RunComparison comparison = regressed();
  static_cast<void>(
      apply_exclusions({{"*", "everything", "", "2027-01-31"}}, "2026-01-01", {}, comparison));
  EXPECT_TRUE(comparison.metrics.empty());
  EXPECT_EQ(comparison.verdict, ComparisonVerdict::kInconclusive) << "never green";
}

}  // namespace
}  // namespace plumb::analysis
