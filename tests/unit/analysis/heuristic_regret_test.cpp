// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/library/heuristic_regret.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/analysis/row_builder.hpp"

namespace plumb::analysis {
namespace {

model::LayerKey key_of(int width, const std::string& dtype = "f32") {
  const std::string shape = dtype + "[1," + std::to_string(width) + "]";
  return {"v1:eltwise;in=" + shape + ";out=" + shape +
          ";acc=f32;math=strict;fn=relu;parameters=[]"};
}

HeuristicRegret regret_of(const RowBuilder& rows) {
  results::RunRecord run;
  run.header.id = "01RUN";
  run.header.environment.identity = {{"library", "onednn-3.2"}, {"cpu.model", "a CPU"}};
  return heuristic_regret(run, rows.rows(), results::CacheMode::kNone);
}

TEST(HeuristicRegret, is_the_choice_over_the_fastest) {
  RowBuilder rows;
  rows.choice(key_of(1), "impl=a", 12.0);
  rows.add(key_of(1), "impl=b", 10.0);
  rows.choice(key_of(2), "impl=a", 20.0);
  rows.add(key_of(2), "impl=b", 30.0);
  const HeuristicRegret regret = regret_of(rows);
  EXPECT_EQ(regret.device, "a CPU");
  EXPECT_EQ(regret.library, "onednn-3.2");
  ASSERT_EQ(regret.groups.size(), 1U);
  const HeuristicRegret::Group& group = regret.groups[0];
  ASSERT_EQ(group.keys.size(), 2U);
  EXPECT_EQ(group.keys[0].key, key_of(1));
  EXPECT_EQ(group.keys[0].best.variant, "impl=b");
  EXPECT_NEAR(group.keys[0].ratio, 1.2, 1e-12);
  EXPECT_EQ(group.keys[1].ratio, 1.0);
  EXPECT_EQ(group.keys[1].best.variant, "impl=a");
  // √(1.2 · 1); Student's t at 0.975 with one degree of freedom is 12.7062.
  EXPECT_NEAR(group.mean.mean, std::sqrt(1.2), 1e-12);
  EXPECT_NEAR(*group.mean.high, std::exp(std::log(1.2) / 2.0 * (1.0 + 12.7062)), 1e-3);
  EXPECT_NEAR(*group.mean.low * *group.mean.high, 1.2, 1e-9);
  EXPECT_NEAR(group.p50, 1.1, 1e-12);
  EXPECT_NEAR(group.p90, 1.18, 1e-12);
  EXPECT_NEAR(group.p99, 1.198, 1e-12);
  EXPECT_EQ(group.share_above, 0.5);
}

TEST(HeuristicRegret, is_one_where_intervals_overlap) {
  RowBuilder rows;
  RowBuilder::set_time(rows.choice(key_of(1), "impl=a", 0.0), 10.3, 0.02);
  RowBuilder::set_time(rows.add(key_of(1), "impl=b", 0.0), 10.0, 0.02);
  const HeuristicRegret::Group group = regret_of(rows).groups.at(0);
  EXPECT_EQ(group.keys.at(0).ratio, 1.0);
  EXPECT_TRUE(group.keys.at(0).within);
  EXPECT_EQ(group.keys.at(0).best.variant, "impl=b");
  EXPECT_EQ(group.within, 1U);
  EXPECT_EQ(group.mean.mean, 1.0);
  EXPECT_FALSE(group.mean.low.has_value());
}

TEST(HeuristicRegret, subtracts_the_floor) {
  RowBuilder rows;
  rows.choice(key_of(1), "impl=a", 12.0).floor = Seconds(2e-6);
  rows.add(key_of(1), "impl=b", 7.0).floor = Seconds(2e-6);
  EXPECT_NEAR(regret_of(rows).groups.at(0).keys.at(0).ratio, 2.0, 1e-9);
}

TEST(HeuristicRegret, counts_what_it_leaves_out) {
  RowBuilder rows;
  rows.choice(key_of(1), "impl=a", 10.0);              // one variant: nothing to choose
  rows.add(key_of(2), "impl=b", 10.0);                 // the choice has no time
  rows.choice(key_of(3), "impl=plumb:eltwise", 10.0);  // ours, not the library's
  rows.choice(key_of(4), "impl=a", 10.0);              // a lost race is a second variant
  rows.add(key_of(4), "impl=b", 90.0).purpose = results::Purpose::kRace;
  rows.choice(key_of(5), "impl=a", 12.0);
  rows.add(key_of(5), "impl=b", 10.0).purpose = results::Purpose::kRace;  // races do not win
  rows.choice(key_of(6), "impl=a", 12.0);
  rows.add(key_of(6), "impl=plumb:x", 1.0);
  const HeuristicRegret regret = regret_of(rows);
  ASSERT_EQ(regret.groups.size(), 1U);
  const HeuristicRegret::Group& group = regret.groups[0];
  EXPECT_EQ(group.no_choice, 2U);
  EXPECT_EQ(group.not_measured, 1U);
  ASSERT_EQ(group.keys.size(), 2U);
  EXPECT_EQ(group.mean.mean, 1.0);
}

TEST(HeuristicRegret, takes_the_confirmed_winner_and_parts_types_and_cache_modes) {
  RowBuilder rows;
  rows.choice(key_of(1), "impl=a", 12.0);
  rows.add(key_of(1), "impl=b", 8.0);
  rows.add(key_of(1), "impl=b", 10.0).purpose = results::Purpose::kConfirm;
  rows.add(key_of(1), "impl=c", 1.0).cache = results::CacheMode::kWeights;
  rows.choice(key_of(1, "bf16"), "impl=a", 30.0);
  rows.add(key_of(1, "bf16"), "impl=b", 10.0);
  const HeuristicRegret regret = regret_of(rows);
  ASSERT_EQ(regret.groups.size(), 2U);
  EXPECT_EQ(regret.groups[0].dtype, "bf16");
  EXPECT_NEAR(regret.groups[0].keys.at(0).ratio, 3.0, 1e-9);
  EXPECT_NEAR(regret.groups[1].keys.at(0).ratio, 1.2, 1e-9);
}

TEST(HeuristicRegret, a_layout_that_the_caller_fixes_is_not_the_librarys_choice) {
  RowBuilder rows;
  rows.choice(key_of(1), "impl=a;layout=any;algorithm=direct", 12.0);
  rows.add(key_of(1), "impl=b;layout=any;algorithm=winograd", 10.0);
  rows.add(key_of(1), "impl=b;layout=channels_last;algorithm=direct", 1.0);
  rows.choice(key_of(2), "impl=a;layout=plain", 12.0);
  rows.add(key_of(2), "impl=a;layout=plainer", 1.0);
  const HeuristicRegret::Group group = regret_of(rows).groups.at(0);
  ASSERT_EQ(group.keys.size(), 1U);
  EXPECT_NEAR(group.keys[0].ratio, 1.2, 1e-9);
  EXPECT_EQ(group.no_choice, 1U);
}

TEST(HeuristicRegret, of_nothing_is_nothing) {
  EXPECT_TRUE(regret_of(RowBuilder()).groups.empty());
}

}  // namespace
}  // namespace plumb::analysis
