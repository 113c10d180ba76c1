// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/fused_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "harness/base/error.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<Match> of_rules(const model::Graph& graph,
                            std::initializer_list<std::string_view> names) {
  std::vector<Match> result;
  for (Match& match : matches(graph)) {
    if (std::find(names.begin(), names.end(), match.rewrite) != names.end()) {
      result.push_back(std::move(match));
    }
  }
  return result;
}

TEST(FusedGraph, reads_what_the_replaced_layers_read) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 4, 4});
  const model::ValueId other = b.sigmoid(x);
  const model::ValueId conv = b.conv(x, 8, 3, true);
  const model::ValueId result = b.relu(b.add(other, conv));
  const model::Graph graph = b.build({result});
  const FusedGraph fused = fused_graph(graph, of_rules(graph, {"conv_add_activation"}));
  ASSERT_THAT(fused.graph.layers, SizeIs(2));
  const model::Layer& sum = fused.graph.layers[1];
  const model::Layer& before = graph.layers[b.at(conv)];
  EXPECT_THAT(sum.inputs, ElementsAre(before.inputs[0], before.inputs[1], before.inputs[2], other));
  EXPECT_THAT(sum.outputs, ElementsAre(result));
  EXPECT_EQ(sum.key, model::to_key(sum.spec));
  EXPECT_EQ(fused.graph.values[result].producer, 1U);
  EXPECT_EQ(fused.graph.values[conv].producer, std::nullopt);
  EXPECT_THAT(fused.origins, ElementsAre(ElementsAre(0U), ElementsAre(1U, 2U, 3U)));
  EXPECT_TRUE(fused.foldings.empty());
}

TEST(FusedGraph, stands_where_the_last_replaced_layer_stood) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 4, 4});
  const model::ValueId conv = b.conv(x, 8, 3);
  const model::ValueId late =
      b.sigmoid(b.relu(x));  // is made after the convolution, and added to it
  const model::Graph graph = b.build({b.add(conv, late)});
  const FusedGraph fused = fused_graph(graph, of_rules(graph, {"conv_add"}));
  ASSERT_THAT(fused.graph.layers, SizeIs(3));
  EXPECT_EQ(fused.graph.layers[2].spec.op, "conv");
  const std::vector<std::vector<model::LayerId>> all = model::predecessors(fused.graph);
  for (model::LayerId id = 0; id < all.size(); ++id) {
    for (const model::LayerId before : all[id]) {
      EXPECT_LT(before, id);
    }
  }
}

TEST(FusedGraph, views_of_an_early_result_follow_the_layer_that_makes_it) {
  GraphSketch b;
  const model::ValueId x = b.input({20, 8});
  const model::ValueId dy = b.input({4, 5, 6});
  const model::ValueId sum = b.layer("reduce",
                                     {dy},
                                     {1, 1, 6},
                                     {{"axes", GraphSketch::Dims{0, 1}},
                                      {"fn", std::string("sum")},
                                      {"keepdims", std::int64_t{1}}});
  const model::ValueId bias = b.view(b.view(sum, {1, 6}), {6});
  const model::ValueId product = b.layer(
      "gemm",
      {x, b.view(dy, {20, 6})},
      {8, 6},
      {{"alpha", 1.0}, {"beta", 1.0}, {"trans_a", std::int64_t{1}}, {"trans_b", std::int64_t{0}}});
  const model::Graph graph = b.build({b.relu(bias), product});
  const FusedGraph fused = fused_graph(graph, of_rules(graph, {"bias_gradient"}));
  EXPECT_THAT(
      fused.origins,
      ElementsAre(
          ElementsAre(3U), ElementsAre(0U, 4U), ElementsAre(1U), ElementsAre(2U), ElementsAre(5U)));
  EXPECT_THAT(fused.graph.layers[1].outputs, ElementsAre(product, sum));
  EXPECT_EQ(fused.graph.values[sum].producer, 1U);
  EXPECT_EQ(fused.graph.values[bias].producer, 3U);
}

TEST(FusedGraph, gives_folded_layers_constants_of_their_own) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 3, 8, 8});
  const model::ValueId conv = b.conv(x, 16, 3);
  const model::ValueId norm = b.batch_norm(conv);
  const model::Graph graph = b.build({b.relu(norm)});
  const FusedGraph fused = fused_graph(graph, of_rules(graph, {"conv_bn_activation"}));
  ASSERT_THAT(fused.graph.layers, SizeIs(1));
  ASSERT_THAT(fused.foldings, SizeIs(1));
  const FusedGraph::Folding& folding = fused.foldings[0];
  EXPECT_EQ(folding.weights, graph.layers[b.at(conv)].inputs[1]);
  EXPECT_EQ(folding.bias, std::nullopt);
  ASSERT_THAT(folding.layers, SizeIs(1));
  EXPECT_EQ(folding.layers[0].outputs, graph.layers[b.at(norm)].outputs);
  const model::Layer& layer = fused.graph.layers[0];
  EXPECT_THAT(layer.inputs,
              ElementsAre(std::optional(x),
                          std::optional(folding.folded_weights),
                          std::optional(folding.folded_bias)));
  ASSERT_THAT(fused.graph.values, SizeIs(graph.values.size() + 2));
  EXPECT_EQ(fused.graph.values[folding.folded_weights].type, layer.spec.inputs[1]);
  EXPECT_EQ(fused.graph.values[folding.folded_bias].type.dims, (std::vector<std::int64_t>{16}));
}

TEST(FusedGraph, is_the_same_graph_without_matches) {
  GraphSketch b;
  const model::Graph graph = b.build({b.relu(b.conv(b.input({1, 3, 8, 8}), 16, 3))});
  const FusedGraph fused = fused_graph(graph, {});
  ASSERT_THAT(fused.graph.layers, SizeIs(2));
  EXPECT_EQ(fused.graph.layers[1].inputs, graph.layers[1].inputs);
  EXPECT_EQ(fused.graph.values[graph.outputs[0]].producer, 1U);
}

TEST(FusedGraph, refuses_matches_that_overlap) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 4, 4});
  const model::Graph graph = b.build({b.relu(b.batch_norm(b.conv(x, 8, 3)))});
  EXPECT_THROW(static_cast<void>(fused_graph(graph, of_rules(graph, {"conv_bn", "bn_activation"}))),
               Error);
}

}  // namespace
}  // namespace plumb::rewrite
