// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/rewrite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<Match> of_rule(const model::Graph& graph, std::string_view name) {
  std::vector<Match> result;
  for (Match& match : matches(graph)) {
    if (match.rewrite == name) {
      result.push_back(std::move(match));
    }
  }
  return result;
}

TEST(Rewrite, table_has_unique_names_and_known_families) {
  std::set<std::string_view> names;
  for (const Rewrite& rule : rewrites()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(rule.family == "fusion" || rule.family == "folding" || rule.family == "gradient")
        << rule.name;
  }
}

TEST(Rewrite, names_every_match_as_its_row) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 4, 4});
  const model::ValueId conv = b.conv(x, 8, 3);
  const model::Graph graph = b.build({b.relu(b.add(b.batch_norm(conv), x))});
  for (const Rewrite& rule : rewrites()) {
    for (const Match& match : rule.find(graph)) {
      EXPECT_EQ(match.rewrite, rule.name);
    }
  }
}

TEST(Rewrite, fuses_convolution_and_relu_into_one_key) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 3, 8, 8});
  const model::Graph graph = b.build({b.relu(b.conv(x, 16, 3))});
  const std::vector<Match> found = matches(graph);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].rewrite, "conv_activation");
  EXPECT_THAT(found[0].layers, ElementsAre(0U, 1U));
  EXPECT_EQ(found[0].key.text,
            "v1:conv;in=f32[1,3,8,8],f32[16,3,3,3]c;out=f32[1,16,8,8];acc=f32;math=strict;"
            "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=relu");
  EXPECT_EQ(found[0].cost.macs, 16 * 64 * 27);
  EXPECT_EQ(model::parse_key(found[0].key), found[0].spec);
}

TEST(Rewrite, does_not_fuse_a_value_that_something_else_reads) {
  GraphSketch b;
  const model::ValueId conv = b.conv(b.input({1, 3, 8, 8}), 16, 3);
  const model::ValueId relu = b.relu(conv);
  const model::ValueId other = b.eltwise(conv, "exp");
  EXPECT_THAT(matches(b.build({relu, other})), IsEmpty());
}

TEST(Rewrite, does_not_fuse_a_value_that_the_model_returns) {
  GraphSketch b;
  const model::ValueId conv = b.conv(b.input({1, 3, 8, 8}), 16, 3);
  EXPECT_THAT(matches(b.build({b.relu(conv), conv})), IsEmpty());
}

TEST(Rewrite, does_not_add_a_value_to_itself) {
  GraphSketch b;
  const model::ValueId conv = b.conv(b.input({1, 3, 8, 8}), 16, 3);
  EXPECT_THAT(matches(b.build({b.add(conv, conv)})), IsEmpty());
}

TEST(Rewrite, folds_batch_norm_into_weights_and_a_bias) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 3, 8, 8});
  const model::Graph graph = b.build({b.batch_norm(b.conv(x, 16, 3))});
  GraphSketch biased;
  const model::ValueId conv = biased.conv(biased.input({1, 3, 8, 8}), 16, 3, true);
  const std::vector<Match> found = matches(graph);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].rewrite, "conv_bn");
  EXPECT_EQ(found[0].key, biased.build({conv}).layers[0].key);
}

TEST(Rewrite, keeps_batch_norm_whose_convolution_has_no_constant_weights) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 3, 8, 8});
  const model::ValueId w = b.input({16, 3, 1, 1});
  using Dims = GraphSketch::Dims;
  const model::ValueId conv = b.layer("conv",
                                      {x, w},
                                      {1, 16, 8, 8},
                                      {{"dilations", Dims{1, 1}},
                                       {"group", std::int64_t{1}},
                                       {"pads", Dims{0, 0, 0, 0}},
                                       {"strides", Dims{1, 1}}});
  EXPECT_THAT(matches(b.build({b.batch_norm(conv)})), IsEmpty());
}

TEST(Rewrite, fuses_the_residual_block_from_either_branch) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 4, 4});
  const model::ValueId left = b.batch_norm(b.conv(x, 8, 3));
  const model::ValueId right = b.batch_norm(b.conv(x, 8, 1));
  const model::ValueId sum = b.add(left, right);
  const model::Graph graph = b.build({b.relu(sum)});
  const std::vector<Match> found = of_rule(graph, "conv_bn_add_activation");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].layers, ElementsAre(0U, 1U, 4U, 5U));
  EXPECT_THAT(found[1].layers, ElementsAre(2U, 3U, 4U, 5U));
  EXPECT_EQ(found[0].key.text,
            "v1:conv;in=f32[1,8,4,4],f32[8,8,3,3]c,f32[8]c,f32[1,8,4,4];out=f32[1,8,4,4];acc=f32;"
            "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];"
            "epilogue=add@3,relu");
}

TEST(Rewrite, leaves_room_for_the_bias_before_a_residual_operand) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 4, 4});
  const model::Graph graph = b.build({b.add(b.conv(x, 8, 3), x)});
  const std::vector<Match> found = of_rule(graph, "conv_add");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].key.text,
              testing::HasSubstr("in=f32[1,8,4,4],f32[8,8,3,3]c,-,f32[1,8,4,4];"));
}

TEST(Rewrite, does_not_treat_a_broadcast_as_a_residual) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 4, 4});
  const model::ValueId gate = b.input({8, 1, 1});
  EXPECT_THAT(matches(b.build({b.add(b.conv(x, 8, 3), gate)})), IsEmpty());
}

TEST(Rewrite, folds_caffe_scale_layers_behind_batch_norm) {
  GraphSketch b;  // Caffe2's exports: BatchNorm, Mul [C,1,1], Add [C,1,1], Relu
  const model::ValueId x = b.input({1, 3, 8, 8});
  const model::ValueId norm = b.batch_norm(b.conv(x, 16, 3));
  const model::ValueId scaled = b.add(b.mul(norm, b.weight({16, 1, 1})), b.weight({16, 1, 1}));
  const model::Graph graph = b.build({b.relu(scaled)});
  EXPECT_THAT(of_rule(graph, "conv_bn"), SizeIs(1));
  EXPECT_THAT(of_rule(graph, "conv_scale"), SizeIs(1));
  const std::vector<Match> found = of_rule(graph, "conv_scale_activation");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].layers, ElementsAre(0U, 1U, 2U, 3U, 4U));
  EXPECT_THAT(found[0].key.text, testing::HasSubstr("f32[16,3,3,3]c,f32[16]c;"));
}

TEST(Rewrite, folds_caffe_scale_layers_into_a_batch_norm_of_their_own) {
  GraphSketch b;  // DenseNet: the BatchNorm follows a Concat, so that no convolution can take it
  const model::ValueId norm = b.batch_norm(b.input({1, 16, 8, 8}));
  const model::ValueId scaled = b.add(b.mul(norm, b.weight({16, 1, 1})), b.weight({16, 1, 1}));
  const model::Graph graph = b.build({b.relu(scaled)});
  const std::vector<Match> found = of_rule(graph, "bn_scale");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].key, graph.layers[0].key);
  EXPECT_THAT(of_rule(graph, "bn_scale_activation").at(0).layers, ElementsAre(0U, 1U, 2U, 3U));
}

TEST(Rewrite, folds_a_bias_written_as_add) {
  GraphSketch b;  // CNTK's exports
  const model::ValueId x = b.input({1, 1, 28, 28});
  const model::Graph graph = b.build({b.relu(b.add(b.conv(x, 8, 5), b.weight({8, 1, 1})))});
  EXPECT_THAT(of_rule(graph, "conv_scale_activation"), SizeIs(1));
}

TEST(Rewrite, does_not_fold_what_varies_along_the_image) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 1, 28, 28});
  EXPECT_THAT(matches(b.build({b.mul(b.conv(x, 8, 5), b.weight({1, 1, 28}))})), IsEmpty());
  EXPECT_THAT(matches(b.build({b.binary("div", b.weight({8, 1, 1}), b.conv(x, 8, 5))})), IsEmpty());
}

TEST(Rewrite, fuses_matmul_bias_and_written_out_gelu) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 128, 768});
  const model::ValueId sum = b.add(b.weight({3072}), b.matmul(x, 3072));
  const model::ValueId ratio = b.binary("div", sum, b.weight({}, std::sqrt(2.0)));
  const model::ValueId one = b.add(b.eltwise(ratio, "erf"), b.weight({}, 1.0));
  const model::Graph graph = b.build({b.mul(b.mul(sum, one), b.weight({}, 0.5))});
  const std::vector<Match> whole = of_rule(graph, "matmul_add_activation");
  ASSERT_THAT(whole, SizeIs(1));
  EXPECT_THAT(whole[0].layers, ElementsAre(0U, 1U, 2U, 3U, 4U, 5U, 6U));
  EXPECT_EQ(whole[0].key.text,
            "v1:matmul;in=f32[1,128,768],f32[768,3072]c,f32[3072]c;out=f32[1,128,3072];acc=f32;"
            "math=strict;epilogue=add@2,gelu_erf");
  EXPECT_THAT(of_rule(graph, "matmul_add"), SizeIs(1));
  const std::vector<Match> gelu = of_rule(graph, "gelu");
  ASSERT_THAT(gelu, SizeIs(1));
  EXPECT_THAT(gelu[0].layers, ElementsAre(2U, 3U, 4U, 5U, 6U));
}

TEST(Rewrite, fuses_a_bias_that_is_no_constant_if_it_is_a_vector) {
  GraphSketch b;  // as in training
  const model::ValueId product = b.matmul(b.input({2, 4, 8}), 16);
  const std::vector<Match> found = matches(b.build({b.add(product, b.input({16}))}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].rewrite, "matmul_add");
  EXPECT_EQ(found[0].key.text,
            "v1:matmul;in=f32[2,4,8],f32[8,16]c,f32[16];out=f32[2,4,16];acc=f32;math=strict;"
            "epilogue=add@2");
  GraphSketch masked;
  const model::ValueId scores = masked.matmul(masked.input({2, 4, 8}), 16);
  EXPECT_THAT(matches(masked.build({masked.add(scores, masked.input({1, 1, 16}))})), IsEmpty());
}

/// Sum over some axes, which keep an extent of 1.
model::ValueId sum_over(GraphSketch& b,
                        model::ValueId x,
                        const GraphSketch::Dims& axes,
                        const GraphSketch::Dims& out) {
  return b.layer("reduce",
                 {x},
                 out,
                 {{"axes", axes}, {"fn", std::string("sum")}, {"keepdims", std::int64_t{1}}});
}

/// Product of the transpose of a matrix with another one.
model::ValueId product_of_rows(GraphSketch& b,
                               model::ValueId x,
                               model::ValueId dy,
                               const GraphSketch::Dims& out) {
  return b.layer(
      "gemm",
      {x, dy},
      out,
      {{"alpha", 1.0}, {"beta", 1.0}, {"trans_a", std::int64_t{1}}, {"trans_b", std::int64_t{0}}});
}

TEST(Rewrite, joins_the_gradients_of_weights_and_bias) {
  GraphSketch b;
  const model::ValueId x = b.input({20, 8});
  const model::ValueId dy = b.input({4, 5, 6});
  const model::ValueId bias = b.view(sum_over(b, dy, {0, 1}, {1, 1, 6}), {6});
  const model::ValueId rows = b.view(dy, {20, 6});
  const model::ValueId of_right = product_of_rows(b, x, rows, {8, 6});
  const std::vector<Match> right = matches(b.build({bias, of_right}));
  ASSERT_THAT(right, SizeIs(1));
  EXPECT_EQ(right[0].rewrite, "bias_gradient");
  EXPECT_EQ(right[0].key.text,
            "v1:gemm_bias_gradient;in=f32[20,8],f32[20,6];out=f32[8,6],f32[6];acc=f32;math=strict;"
            "alpha=1.0;of=b;trans_a=1;trans_b=0");
  EXPECT_EQ(model::parse_key(right[0].key), right[0].spec);
  GraphSketch turned;
  const model::ValueId y = turned.input({20, 8});
  const model::ValueId other = turned.input({20, 6});
  const model::ValueId of_left = product_of_rows(turned, other, y, {6, 8});
  const std::vector<Match> left =
      matches(turned.build({of_left, sum_over(turned, other, {0}, {1, 6})}));
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_THAT(left[0].key.text, testing::HasSubstr("out=f32[6,8],f32[6];"));
  EXPECT_THAT(left[0].key.text, testing::HasSubstr(";of=a;trans_a=1;trans_b=0"));
}

TEST(Rewrite, joins_no_product_with_another_sum) {
  GraphSketch b;
  const model::ValueId x = b.input({6, 8});
  const model::ValueId dy = b.input({6, 6});
  const model::ValueId product = product_of_rows(b, x, dy, {8, 6});
  EXPECT_THAT(matches(b.build({product, sum_over(b, dy, {1}, {6, 1})})), IsEmpty());
  GraphSketch read;  // before the product is there
  const model::ValueId left = read.input({6, 8});
  const model::ValueId rows = read.input({6, 6});
  const model::ValueId early = read.relu(sum_over(read, rows, {0}, {1, 6}));
  EXPECT_THAT(matches(read.build({early, product_of_rows(read, left, rows, {8, 6})})), IsEmpty());
}

TEST(Rewrite, knows_gelu_in_every_order_of_its_products) {
  const double root = std::sqrt(2.0);
  {
    GraphSketch b;  // (x · ½) · (1 + erf(x · 1/√2))
    const model::ValueId x = b.input({4, 8});
    const model::ValueId scaled = b.mul(x, b.weight({1}, 1.0 / root));
    const model::ValueId one = b.add(b.weight({}, 1.0), b.eltwise(scaled, "erf"));
    const model::ValueId half = b.mul(b.weight({}, 0.5), x);
    EXPECT_THAT(of_rule(b.build({b.mul(half, one)}), "gelu"), SizeIs(1));
  }
  {
    GraphSketch b;  // x · (½ · (1 + erf(x ÷ √2))), in a model without weights
    const model::ValueId x = b.input({4, 8});
    const model::ValueId ratio = b.binary("div", x, b.weight({}));
    const model::ValueId one = b.add(b.eltwise(ratio, "erf"), b.weight({}));
    EXPECT_THAT(of_rule(b.build({b.mul(x, b.mul(one, b.weight({})))}), "gelu"), SizeIs(1));
  }
  {
    GraphSketch b;  // a constant that is not √2: another function
    const model::ValueId x = b.input({4, 8});
    const model::ValueId ratio = b.binary("div", x, b.weight({}, 2.0));
    const model::ValueId one = b.add(b.eltwise(ratio, "erf"), b.weight({}, 1.0));
    EXPECT_THAT(matches(b.build({b.mul(b.mul(x, one), b.weight({}, 0.5))})), IsEmpty());
  }
}

TEST(Rewrite, fuses_silu_behind_a_convolution) {
  GraphSketch b;
  const model::ValueId conv = b.conv(b.input({1, 3, 8, 8}), 16, 3);
  const model::Graph graph = b.build({b.mul(conv, b.sigmoid(conv))});
  const std::vector<Match> fused = of_rule(graph, "conv_activation");
  ASSERT_THAT(fused, SizeIs(1));
  EXPECT_EQ(fused[0].spec.epilogue.at(0).fn, "silu");
  EXPECT_THAT(fused[0].layers, ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(of_rule(graph, "silu"), SizeIs(1));
}

TEST(Rewrite, knows_both_ways_to_write_hard_swish) {
  {
    GraphSketch b;
    const model::ValueId x = b.input({1, 3, 8, 8});
    const model::Graph graph = b.build({b.mul(x, b.eltwise(x, "hard_sigmoid", {1.0 / 6.0, 0.5}))});
    EXPECT_THAT(of_rule(graph, "hard_swish"), SizeIs(1));
  }
  {
    GraphSketch b;
    const model::ValueId x = b.input({1, 3, 8, 8});
    const model::ValueId clipped = b.eltwise(b.add(x, b.weight({}, 3.0)), "clip", {0.0, 6.0});
    const model::Graph graph = b.build({b.binary("div", b.mul(x, clipped), b.weight({}, 6.0))});
    EXPECT_THAT(of_rule(graph, "hard_swish"), SizeIs(1));
  }
  {
    GraphSketch b;
    const model::ValueId x = b.input({1, 3, 8, 8});
    const model::Graph graph = b.build({b.mul(x, b.eltwise(x, "hard_sigmoid", {0.2, 0.5}))});
    EXPECT_THAT(of_rule(graph, "hard_swish"), IsEmpty());
  }
}

model::ValueId layer_norm(GraphSketch& b, model::ValueId x, bool sub_twice, bool pow) {
  const model::ValueId mean = b.mean(x);
  const model::ValueId centred = b.binary("sub", x, mean);
  const model::ValueId again = sub_twice ? b.binary("sub", x, mean) : centred;
  const model::ValueId square =
      pow ? b.binary("pow", again, b.weight({}, 2.0)) : b.mul(again, again);
  const model::ValueId root = b.eltwise(b.add(b.mean(square), b.weight({}, 1e-12)), "sqrt");
  const model::ValueId normal = b.binary("div", centred, root);
  return b.add(b.mul(normal, b.weight({8})), b.weight({8}));
}

TEST(Rewrite, finds_layer_normalization_written_out) {
  for (const bool sub_twice : {false, true}) {
    for (const bool pow : {false, true}) {
      GraphSketch b;
      const model::ValueId x = b.input({2, 4, 8});
      const model::Graph graph = b.build({b.relu(layer_norm(b, b.add(x, x), sub_twice, pow))});
      const std::vector<Match> found = of_rule(graph, "layer_norm");
      ASSERT_THAT(found, SizeIs(1));
      EXPECT_THAT(found[0].layers, SizeIs(sub_twice ? 10U : 9U));
      EXPECT_EQ(found[0].key.text,
                "v1:layer_norm;in=f32[2,4,8],f32[8]c,f32[8]c;out=f32[2,4,8];acc=f32;math=strict;"
                "axis=2;epsilon=1e-12");
    }
  }
}

TEST(Rewrite, fuses_gemm_and_batch_norm_with_their_activations) {
  GraphSketch b;
  const model::ValueId gemm = b.relu(b.gemm(b.input({2, 16}), 4));
  const model::ValueId norm = b.eltwise(b.batch_norm(b.input({1, 3, 8, 8})), "clip", {0.0, 6.0});
  const model::Graph graph = b.build({gemm, norm});
  const std::vector<Match> found = matches(graph);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].rewrite, "gemm_activation");
  EXPECT_EQ(found[1].rewrite, "bn_activation");
  EXPECT_THAT(found[1].key.text, testing::EndsWith("epilogue=clip(0.0,6.0)"));
}

TEST(Rewrite, ignores_layers_that_cannot_be_keyed) {
  GraphSketch b;
  const model::ValueId x = b.conv(b.input({1, 3, 8, 8}), 16, 3);
  const model::ValueId y = b.relu(x);
  b.unsupported("no such operator");
  EXPECT_THAT(matches(b.build({y})), IsEmpty());
}

TEST(Rewrite, changes_precision_of_floating_tensors_only) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 3, 8, 8});
  const model::ValueId indices = b.input({5}, model::DataType::kS64);
  const model::ValueId table = b.weight({100, 16});
  const model::ValueId rows =
      b.layer("gather",
              {table, indices},
              {5, 16},
              {{"axis", std::int64_t{0}}, {"distribution", std::string("uniform")}});
  const model::Graph graph = b.build({b.relu(b.conv(x, 16, 3)), rows});
  const model::Graph lower = with_precision(graph, model::DataType::kBf16);
  EXPECT_EQ(lower.layers[1].key.text,
            "v1:conv;in=bf16[1,3,8,8],bf16[16,3,3,3]c;out=bf16[1,16,8,8];acc=f32;math=strict;"
            "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]");
  EXPECT_THAT(lower.layers[0].key.text,
              testing::HasSubstr("in=bf16[100,16]c,s64[5];out=bf16[5,16]"));
  EXPECT_EQ(lower.weight_bytes.value, graph.weight_bytes.value / 2);
  EXPECT_EQ(lower.layers[1].cost.input_bytes.value, graph.layers[1].cost.input_bytes.value / 2);
  EXPECT_EQ(lower.values[indices].type.dtype, model::DataType::kS64);
  EXPECT_EQ(graph.layers[1].spec.inputs[0]->dtype, model::DataType::kF32);
}

}  // namespace
}  // namespace plumb::rewrite
