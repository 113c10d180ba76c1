// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/spec_check.hpp"
#include "harness/rewrite/fused_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/match.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

using Counts = std::map<std::string, std::size_t>;

Counts joined_by(const model::Graph& graph, std::string_view family) {
  Counts counts;
  for (const Match& match : matches(graph, family)) {
    EXPECT_FALSE(model::check_spec(match.spec)) << match.key.text;
    EXPECT_EQ(model::parse_key(match.key), match.spec);
    ++counts[std::string(match.rewrite)];
  }
  return counts;
}

model::Graph updated_step(const model::Graph& model) {
  return training_step(model, {}, TrainingStep::Optimizer{}).training.graph;
}

/// Step of three products of rows: one with bias and ReLU, one with bias and GELU.
model::Graph step_of_rows() {
  GraphSketch sketch;
  const auto first = sketch.add(sketch.matmul(sketch.input({2, 4, 8}), 12), sketch.weight({12}));
  const auto second = sketch.add(sketch.matmul(sketch.relu(first), 16), sketch.weight({16}));
  return updated_step(sketch.build({sketch.matmul(sketch.eltwise(second, "gelu_erf"), 5)}));
}

TEST(FusionFamily, joins_its_own_layers_alone) {
  const model::Graph step = step_of_rows();
  EXPECT_EQ(joined_by(step, "fused_optimizer"), (Counts{{"update", 1}}));
  EXPECT_EQ(joined_by(step, "gemm_bias"), (Counts{{"bias_gradient", 2}, {"matmul_add", 2}}));
  EXPECT_EQ(joined_by(step, "gemm_gelu"), (Counts{{"gemm_activation_gradient", 1}}));
  EXPECT_EQ(joined_by(step, "gemm_relu"),
            (Counts{{"gemm_activation_gradient", 1}, {"matmul_add_activation", 1}}));
  EXPECT_EQ(joined_by(step, "conv_relu_backward"), Counts{});
}

TEST(FusionFamily, has_rules_of_the_table_that_fusion_has_but_for_gradients) {
  std::map<std::string_view, std::string_view> families;
  for (const Rewrite& rule : rewrites()) {
    families[rule.name] = rule.family;
  }
  for (const FusionFamily& family : fusion_families()) {
    EXPECT_EQ(find_fusion_family(family.name).rules, family.rules);
    for (std::string_view rest = family.rules; !rest.empty();) {
      const std::size_t end = rest.find('|');
      EXPECT_TRUE(families.contains(rest.substr(0, end))) << rest;
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  }
  for (const Match& match : matches(step_of_rows())) {
    EXPECT_NE(families.at(match.rewrite), "gradient") << match.key.text;
  }
}

TEST(FusionFamily, takes_a_gradient_behind_a_product_through_the_view_of_its_rows) {
  const model::Graph step = step_of_rows();
  const std::vector<Match> found = matches(step, "gemm_gelu");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].key.text,
              testing::StartsWith("v1:gemm;in=f32[8,5],f32[16,5],-,f32[8,16];out=f32[8,16];"));
  EXPECT_THAT(found[0].key.text, testing::EndsWith(";epilogue=gelu_erf_backward@3"));
  ASSERT_EQ(found[0].layers.size(), 3U);
  const FusedGraph fused = fused_graph(step, found);
  EXPECT_EQ(fused.graph.layers.size(), step.layers.size() - 2);
  const std::vector<std::vector<model::LayerId>> before = model::predecessors(fused.graph);
  for (model::LayerId id = 0; id < before.size(); ++id) {
    for (const model::LayerId earlier : before[id]) {
      EXPECT_LT(earlier, id) << fused.graph.layers[id].name;
    }
  }
}

TEST(FusionFamily, takes_the_gradient_of_a_relu_behind_that_of_a_convolution) {
  GraphSketch sketch;
  const auto hidden = sketch.relu(sketch.conv(sketch.input({2, 3, 4, 4}), 5, 3, true));
  const std::vector<Match> found =
      matches(updated_step(sketch.build({sketch.conv(hidden, 6, 1)})), "conv_relu_backward");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].key.text,
              testing::StartsWith("v1:conv_backward_data;in=f32[2,6,4,4],f32[6,5,1,1],f32[2,5,4,4];"
                                  "out=f32[2,5,4,4];"));
  EXPECT_THAT(found[0].key.text, testing::EndsWith(";epilogue=relu_backward@2"));
}

TEST(FusionFamily, leaves_a_gradient_behind_a_sum_of_gradients) {
  GraphSketch sketch;
  const auto hidden = sketch.relu(sketch.gemm(sketch.input({4, 8}), 6));
  const auto sum = sketch.add(sketch.gemm(hidden, 5), sketch.gemm(hidden, 5));
  const Counts counts = joined_by(updated_step(sketch.build({sum})), "gemm_relu");
  EXPECT_EQ(counts, (Counts{{"gemm_activation", 1}}));
}

TEST(FusionFamily, leaves_a_gradient_whose_rows_are_others_than_the_product_s) {
  GraphSketch sketch;
  const auto hidden = sketch.relu(sketch.conv(sketch.input({2, 3, 4, 4}), 5, 3));
  const auto flat = sketch.view(hidden, {2, 5 * 4 * 4});
  EXPECT_EQ(joined_by(updated_step(sketch.build({sketch.gemm(flat, 6)})), "gemm_relu"), Counts{});
}

}  // namespace
}  // namespace plumb::rewrite
