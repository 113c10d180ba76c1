// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>

#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {
namespace {

results::Execution::Layer step(std::vector<model::LayerId> layers,
                               const std::string& variant,
                               double seconds) {
  results::Execution::Layer layer;
  layer.layers = std::move(layers);
  layer.key = {"v1:conv;" + variant};
  layer.variant = variant;
  layer.in_context = measure::MeasuredTime{Seconds(seconds), {Seconds(seconds), Seconds(seconds)}};
  return layer;
}

results::Execution execution(const std::string& mode,
                             std::vector<results::Execution::Layer> layers) {
  results::Execution execution;
  execution.mode = mode;
  execution.row.summary.n = 9;
  execution.row.process = 1;
  Seconds sum{};
  for (const results::Execution::Layer& layer : layers) {
    sum += layer.in_context->median;
  }
  execution.in_context = measure::MeasuredTime{sum, {sum, sum}};
  execution.layers = std::move(layers);
  return execution;
}

model::Graph four_layers() {
  model::Graph graph;
  for (const char* const name : {"conv", "relu", "add", "product"}) {
    graph.layers.emplace_back().name = name;
  }
  return graph;
}

ModelWhatIfs fusion_what_if() {
  WhatIfResult fusion;
  fusion.name = fusion.execution_mode = "fusion";
  fusion.of_plans = true;
  fusion.layers = {{"stale", {"v1:x"}, Seconds(99), Seconds(1), "of hot layers alone"}};
  return {{}, {fusion}};
}

// Plain 4 + 2 + 1 + 5 + 1 = 13 s, fused 4.5 + 1 + 4 + 1.5 = 11 s: 2 s less.
TEST(PlanSaving, adds_up_to_what_the_plans_differ_by) {
  const std::vector<results::Execution> executions = {
      execution("plain",
                {step({0}, "a", 4),
                 step({1}, "r", 2),
                 step({2}, "s", 1),
                 step({3}, "p", 5),
                 step({}, "out", 1)}),
      execution(
          "fusion",
          {step({0, 1}, "f", 4.5), step({2}, "s", 1), step({3}, "q", 4), step({}, "out", 1.5)})};
  ModelWhatIfs whatifs = fusion_what_if();
  add_plan_savings(executions, four_layers(), ResultSet({}), whatifs);
  const auto& savings = whatifs.whatifs[0].layers;
  ASSERT_EQ(savings.size(), 3U) << "a step that takes the same is no saving";
  EXPECT_EQ(savings[0].layer, "conv + relu");
  EXPECT_EQ(savings[0].before, Seconds(6));
  EXPECT_EQ(savings[0].after, Seconds(4.5));
  EXPECT_EQ(savings[0].change, "a → f");
  EXPECT_EQ(savings[1].layer, "product");
  EXPECT_EQ(savings[1].change, "p → q");
  EXPECT_EQ(savings[2].layer, "reorders of the outputs");
  Seconds sum{};
  for (const auto& saving : savings) {
    sum += saving.before - saving.after;
  }
  EXPECT_NEAR(sum.count(), 2.0, 1e-12);
}

TEST(PlanSaving, lists_nothing_where_the_steps_have_no_prices) {
  std::vector<results::Execution> executions = {execution("plain", {step({0}, "a", 4)}),
                                                execution("fusion", {step({0}, "b", 3)})};
  executions[1].layers[0].in_context.reset();
  ModelWhatIfs whatifs = fusion_what_if();
  add_plan_savings(executions, four_layers(), ResultSet({}), whatifs);
  EXPECT_TRUE(whatifs.whatifs[0].layers.empty());
}

TEST(PlanSaving, leaves_predictions_from_hot_layers_alone) {
  ModelWhatIfs whatifs = fusion_what_if();
  whatifs.whatifs[0].of_plans = false;
  add_plan_savings({}, four_layers(), ResultSet({}), whatifs);
  EXPECT_EQ(whatifs.whatifs[0].layers.size(), 1U);
}

}  // namespace
}  // namespace plumb::analysis
