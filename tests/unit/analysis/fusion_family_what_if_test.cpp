// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "harness/analysis/whatif/what_if.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/match.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/analysis/what_if_questions.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

/// Step of two products with a ReLU between them, and its rows: 1 µs for each layer.
struct TimedStep {
  model::Graph graph;
  RowBuilder rows;

  TimedStep() {
    rewrite::GraphSketch g;
    graph = rewrite::training_step(g.build({g.gemm(g.relu(g.gemm(g.input({16, 8}), 8)), 8)}),
                                   {},
                                   rewrite::TrainingStep::Optimizer{})
                .training.graph;
    std::set<std::string> seen;
    for (const model::Layer& layer : graph.layers) {
      if (layer.role == model::Layer::Role::kCompute && seen.insert(layer.key.text).second) {
        rows.choice(layer.key, "a", 1.0);
      }
    }
  }

  /// Returns the only match of a rule in a family.
  [[nodiscard]] rewrite::Match match(std::string_view family, std::string_view rule) const {
    for (rewrite::Match& each : rewrite::matches(graph, family)) {
      if (each.rewrite == rule) {
        return std::move(each);
      }
    }
    throw std::runtime_error("no such match");
  }
  [[nodiscard]] WhatIfResult ask_family(std::string_view family) const {
    return ask(family, graph, rows);
  }
};

double microseconds_saved(const WhatIfResult& result) {
  return microseconds(predicted_saving(result).value());
}

TEST(FusionFamilyWhatIf, predicts_updates_as_one_layer_and_nothing_else) {
  TimedStep step;
  const WhatIfResult unknown = step.ask_family("fused_optimizer");
  EXPECT_TRUE(unknown.applies);
  EXPECT_EQ(unknown.why_not, "no time for 1 of 1 fused layers: run with --mode fused_optimizer");
  step.rows.choice(step.match("fused_optimizer", "update").key, "joined", 1.5);
  step.rows.choice(step.match("gemm_relu", "gemm_activation").key, "other", 0.5);
  const WhatIfResult result = step.ask_family("fused_optimizer");
  EXPECT_EQ(result.why_not, "");
  EXPECT_NEAR(microseconds_saved(result), 4.0 - 1.5, 1e-9);  // of two matrices and two biases
  ASSERT_EQ(result.layers.size(), 1U);
  EXPECT_EQ(result.layers[0].change, "update");
  EXPECT_EQ(result.execution_mode, "fused_optimizer");
  EXPECT_EQ(result.baseline_mode, "plain");

  const ResultSet results(step.rows.rows());
  const WhatIfInput input{kHandmade, step.graph, results};
  const auto price = price_mode(input, {.fused_optimizer = true});
  ASSERT_TRUE(price);
  EXPECT_NEAR(microseconds(price->median), microseconds(*result.predicted), 1e-9);
}

TEST(FusionFamilyWhatIf, needs_both_passes_and_names_what_the_library_refuses) {
  using Kind = results::Outcome::Kind;
  TimedStep step;
  const rewrite::Match forward = step.match("gemm_relu", "gemm_activation");
  const rewrite::Match backward = step.match("gemm_relu", "gemm_activation_gradient");
  step.rows.choice(forward.key, "joined", 1.25);
  EXPECT_EQ(step.ask_family("gemm_relu").why_not,
            "no time for 1 of 2 fused layers: run with --mode gemm_relu");

  TimedStep refused = step;
  refused.rows.fail(backward.key, Kind::kUnsupported, "not here");
  const WhatIfResult half = refused.ask_family("gemm_relu");
  EXPECT_NEAR(microseconds_saved(half), 0.75, 1e-9);
  EXPECT_THAT(half.mode, testing::HasSubstr("1 of 2 can be fused here"));
  EXPECT_THAT(half.mode, testing::HasSubstr("unsupported: not here"));

  step.rows.choice(backward.key, "joined", 1.5);
  const WhatIfResult whole = step.ask_family("gemm_relu");
  EXPECT_NEAR(microseconds_saved(whole), 0.75 + 0.5, 1e-9);
  EXPECT_EQ(whole.layers.size(), 2U);
}

TEST(FusionFamilyWhatIf, has_no_number_where_the_library_refuses_all) {
  TimedStep step;
  for (const rewrite::Match& match : rewrite::matches(step.graph, "gemm_relu")) {
    step.rows.fail(match.key, results::Outcome::Kind::kUnsupported, "not here");
  }
  const WhatIfResult result = step.ask_family("gemm_relu");
  EXPECT_FALSE(result.applies);
  EXPECT_FALSE(result.predicted);
  EXPECT_THAT(result.why_not, testing::EndsWith(": unsupported: not here"));

  TimedStep crashed;
  for (const rewrite::Match& match : rewrite::matches(crashed.graph, "gemm_relu")) {
    crashed.rows.fail(match.key, results::Outcome::Kind::kCrashed, "signal 11");
  }
  EXPECT_TRUE(crashed.ask_family("gemm_relu").applies);
}

TEST(FusionFamilyWhatIf, does_not_apply_where_nothing_can_be_joined) {
  const WhatIfResult result = TimedStep().ask_family("conv_relu_backward");
  EXPECT_FALSE(result.applies);
  EXPECT_EQ(result.why_not, "the step has no layers that follow each other so");
}

TEST(FusionFamilyWhatIf, is_a_row_of_steps_with_a_mode_of_its_own) {
  const RowBuilder none{};
  for (const rewrite::FusionFamily& family : rewrite::fusion_families()) {
    const std::string name(family.name);
    EXPECT_EQ(results::execution_mode_from(name).fusion_family(), name);
    const auto row = std::find_if(what_ifs().begin(), what_ifs().end(), [&](const WhatIf& each) {
      return each.name == name;
    });
    ASSERT_NE(row, what_ifs().end()) << name;
    EXPECT_TRUE(row->of_steps) << name;
    EXPECT_EQ(row->execution_mode, name);
    EXPECT_EQ(TimedStep().ask_family(name).name, name);
    EXPECT_THROW(static_cast<void>(ask(name, product_and_relu(), none)), std::runtime_error);
  }
}

}  // namespace
}  // namespace plumb::analysis
