// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/bounds/model_execution.hpp"
#include "tests/unit/analysis/row_builder.hpp"

namespace plumb::analysis {
namespace {

using testing::SizeIs;

const model::LayerKey kConv{"v1:conv;in=f32[1,8,4,4],f32[8,8,1,1]c;out=f32[1,8,4,4]"};
const model::LayerKey kRelu{"v1:eltwise;in=f32[1,8,4,4];out=f32[1,8,4,4]"};
const model::LayerKey kView{"v1:view;in=f32[1,8,4,4];out=f32[1,128]"};

results::Execution executed() {
  results::Execution execution;
  execution.mode = "fusion";
  execution.layers = {{{0}, kConv, "a", Seconds(25e-6), Seconds(3e-6), 1, {}},
                      {{1}, kRelu, "r", Seconds(9e-6), Seconds(0), 0, {}},
                      {{2}, kView, "", Seconds(1e-6), Seconds(0), 0, {}},
                      {{}, {}, "", Seconds(0), Seconds(2e-6), 1, {}}};
  return execution;
}

TEST(PlanEstimate, adds_up_the_variants_executed_and_the_reorders) {
  RowBuilder rows;
  rows.add(kConv, "a", 20).cache = results::CacheMode::kWeights;
  rows.add(kConv, "b", 10).cache =
      results::CacheMode::kWeights;  // faster, but not what was executed
  rows.add(kConv, "a", 1);
  rows.add(kRelu, "r", 7).cache = results::CacheMode::kWeights;
  const std::optional<Bound> estimate = estimate_of_plan(executed(), ResultSet(rows.rows()));
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->kind, results::BoundKind::kPredicted);
  EXPECT_EQ(estimate->mode, "fusion");
  EXPECT_TRUE(estimate->complete);
  EXPECT_NEAR(estimate->seconds.count(), 32e-6, 1e-12);
  EXPECT_LT(estimate->interval.low, estimate->seconds);
  EXPECT_THAT(estimate->inputs, SizeIs(2));
}

TEST(PlanEstimate, takes_a_race_or_the_best_variant_for_want_of_better) {
  RowBuilder rows;
  results::Measurement& race = rows.add(kConv, "a", 21);
  race.purpose = results::Purpose::kRace;
  rows.add(kRelu, "another", 7).cache = results::CacheMode::kWeights;
  const std::optional<Bound> estimate = estimate_of_plan(executed(), ResultSet(rows.rows()));
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->seconds.count(), 33e-6, 1e-12);
}

TEST(PlanEstimate, is_incomplete_without_a_time_for_a_layer) {
  RowBuilder rows;
  rows.add(kRelu, "r", 7).cache = results::CacheMode::kWeights;
  const std::optional<Bound> estimate = estimate_of_plan(executed(), ResultSet(rows.rows()));
  ASSERT_TRUE(estimate);
  EXPECT_FALSE(estimate->complete);
}

TEST(PlanEstimate, estimates_nothing_without_a_plan_or_cold_rows) {
  RowBuilder rows;
  rows.add(kConv, "a", 20);
  EXPECT_FALSE(estimate_of_plan(executed(), ResultSet(rows.rows())));
  rows.add(kConv, "a", 20).cache = results::CacheMode::kWeights;
  EXPECT_FALSE(estimate_of_plan(results::Execution{}, ResultSet(rows.rows())));
}

TEST(PlanEstimate, is_what_the_plan_took_in_turn_if_that_is_known) {
  RowBuilder rows;
  rows.add(kConv, "a", 20).cache = results::CacheMode::kWeights;
  rows.add(kRelu, "r", 7).cache = results::CacheMode::kWeights;
  const ResultSet results(rows.rows());
  results::Execution execution = executed();
  execution.in_context = {Seconds(40e-6), {Seconds(36e-6), Seconds(48e-6)}};
  const std::optional<Bound> estimate = estimate_of_plan(execution, results);
  ASSERT_TRUE(estimate);
  EXPECT_TRUE(estimate->complete);
  EXPECT_EQ(estimate->mode, "fusion");
  EXPECT_EQ(estimate->seconds, Seconds(40e-6));
  EXPECT_EQ(estimate->interval.low, Seconds(36e-6));
  EXPECT_EQ(estimate->interval.high, Seconds(48e-6));
  EXPECT_TRUE(estimate_of_plan(execution, ResultSet({})));  // needs no rows
  execution.in_context.reset();
  EXPECT_NEAR(estimate_of_plan(execution, results)->seconds.count(), 32e-6, 1e-12);
}

TEST(PlanEstimate, lists_where_a_layer_takes_another_time_inside_than_alone) {
  model::Graph graph;
  graph.layers.resize(3);
  graph.layers[0].name = "conv1";
  graph.layers[1].name = "relu1";
  RowBuilder rows;
  rows.add(kConv, "a", 20).cache = results::CacheMode::kWeights;
  rows.add(kRelu, "r", 17).cache = results::CacheMode::kWeights;
  const ResultSet results(rows.rows());
  const std::vector<ExecutionTime::Layer> layers =
      largest_differences(executed(), graph, results, 5);
  ASSERT_THAT(layers, SizeIs(2));
  EXPECT_EQ(layers[0].name, "relu1");  // 8 µs less inside
  EXPECT_EQ(layers[1].name, "conv1");  // 5 µs more
  EXPECT_NEAR(layers[1].inside.count(), 25e-6, 1e-12);
  EXPECT_NEAR(layers[1].alone.count(), 20e-6, 1e-12);
  EXPECT_THAT(largest_differences(executed(), graph, results, 1), SizeIs(1));
  EXPECT_THAT(largest_differences(executed(), model::Graph{}, results, 5), SizeIs(0));
}

}  // namespace
}  // namespace plumb::analysis
