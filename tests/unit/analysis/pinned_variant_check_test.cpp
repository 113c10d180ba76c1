// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "harness/analysis/qualify/qualification.hpp"

namespace plumb::analysis {
namespace {

using ::testing::HasSubstr;

MetricComparison regression(double ratio) {
  MetricComparison metric;
  metric.ratio = ratio;
  return metric;
}

Qualification::ReplayTimes times(double replayed, double best) {
  Qualification::ReplayTimes result;
  result.chosen = "impl=brgconv:avx512_core";
  result.replayed = "impl=brg_conv_fwd:avx512_core";
  result.replay = {"replay", {1.0, 1.01, 0.99}, {replayed, replayed * 1.01, replayed * 0.99}};
  result.best = {"best", {1.0, 1.01, 0.99}, {best, best * 1.01, best * 0.99}};
  return result;
}

TEST(PinnedVariantCheck, there_and_as_fast_means_the_heuristic_changed) {
  const RoundComparison::PinnedCheck replay = judge_replay(times(1.02, 1.01), regression(1.4));
  EXPECT_EQ(replay.finding, RoundComparison::PinnedCheck::Finding::kHeuristicChanged);
  EXPECT_EQ(replay.bound, RoundComparison::PinnedCheck::BoundChange::kChoiceOnly);
  EXPECT_THAT(replay.evidence, HasSubstr("still there"));
}

TEST(PinnedVariantCheck, blames_no_heuristic_where_both_choose_the_same) {
  Qualification::ReplayTimes same = times(1.02, 1.01);
  same.candidate_chosen = same.replayed;
  EXPECT_EQ(judge_replay(same, regression(1.4)).finding,
            RoundComparison::PinnedCheck::Finding::kNotSeenAgain);
}

TEST(PinnedVariantCheck, there_but_slower_means_the_kernel_changed) {
  const RoundComparison::PinnedCheck replay = judge_replay(times(1.38, 1.02), regression(1.4));
  EXPECT_EQ(replay.finding, RoundComparison::PinnedCheck::Finding::kKernelChanged);
  EXPECT_EQ(replay.bound, RoundComparison::PinnedCheck::BoundChange::kChoiceOnly);
}

TEST(PinnedVariantCheck, not_there_means_removed_and_the_best_tell_of_the_bound) {
  Qualification::ReplayTimes gone = times(1.0, 1.4);
  gone.replayed.clear();
  gone.replay = {};
  const RoundComparison::PinnedCheck replay = judge_replay(gone, regression(1.4));
  EXPECT_EQ(replay.finding, RoundComparison::PinnedCheck::Finding::kRemoved);
  EXPECT_EQ(replay.bound, RoundComparison::PinnedCheck::BoundChange::kCapabilityLost);
  EXPECT_THAT(replay.evidence, HasSubstr("brgconv:avx512_core"));
}

TEST(PinnedVariantCheck, blames_nothing_that_the_interval_does_not_show) {
  // Three pairs of four are as slow as the regression. The fourth says that nothing is slower.
  Qualification::ReplayTimes noisy = times(1.0, 1.0);
  noisy.replay = {"replay", {1.0, 1.0, 1.0, 1.0}, {1.39, 1.41, 0.95, 1.39}};
  noisy.best = noisy.replay;
  const RoundComparison::PinnedCheck replay = judge_replay(noisy, regression(1.4));
  ASSERT_TRUE(replay.best && replay.best->ratio);
  EXPECT_GT(*replay.best->ratio, std::sqrt(1.4)) << "the point alone would say that it is lost";
  EXPECT_LT(replay.best->low, std::sqrt(1.4));
  EXPECT_EQ(replay.bound, RoundComparison::PinnedCheck::BoundChange::kUndecided);
  EXPECT_EQ(replay.finding, RoundComparison::PinnedCheck::Finding::kUndecided);
}

TEST(PinnedVariantCheck, says_that_it_was_not_tested_where_times_are_missing) {
  Qualification::ReplayTimes stopped = times(1.0, 1.0);
  stopped.replay = {};
  stopped.best = {};
  const RoundComparison::PinnedCheck replay = judge_replay(stopped, regression(1.4));
  EXPECT_EQ(replay.finding, RoundComparison::PinnedCheck::Finding::kNotTested);
  EXPECT_EQ(replay.bound, RoundComparison::PinnedCheck::BoundChange::kNotTested);
}

TEST(PinnedVariantCheck, finds_a_renamed_implementation) {
  EXPECT_EQ(same_variant("impl=brgconv:avx512_core;layout=any",
                         {"impl=jit:avx512_core", "impl=brg_conv_fwd:avx512_core;layout=any"}),
            "impl=brg_conv_fwd:avx512_core;layout=any");
  EXPECT_EQ(same_variant("impl=jit_wino_4x3:avx512_core", {"impl=jit:avx512_core"}), "");
}

}  // namespace
}  // namespace plumb::analysis
