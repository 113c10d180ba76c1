// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "harness/analysis/limits/model_limits.hpp"
#include "harness/model/key/spec_check.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

/// The spec of a convolution of some input and output channels, with a bias.
model::LayerSpec convolution(std::int64_t in, std::int64_t out) {
  rewrite::GraphSketch g;
  return g.build({g.conv(g.input({1, in, 8, 8}), out, 3, true)}).layers[0].spec;
}

TEST(PaddedLayer, rounds_channels_up_to_whole_blocks) {
  const auto padded = padded_layer(convolution(60, 65), 16);
  ASSERT_TRUE(padded);
  EXPECT_EQ(*padded, convolution(64, 80));
}

TEST(PaddedLayer, leaves_whole_blocks_and_images_alone) {
  EXPECT_FALSE(padded_layer(convolution(32, 64), 16));
  EXPECT_FALSE(padded_layer(convolution(3, 64), 16));
  EXPECT_EQ(padded_layer(convolution(3, 60), 16), convolution(3, 64));
  EXPECT_FALSE(padded_layer(convolution(60, 65), 0));
}

TEST(PaddedLayer, pads_what_a_fused_addition_reads) {
  model::LayerSpec spec = convolution(16, 24);
  spec.inputs.emplace_back(spec.outputs[0]);
  spec.epilogue.push_back({"add", {}, spec.inputs.size() - 1});
  const auto padded = padded_layer(spec, 16);
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->inputs.back()->dims, padded->outputs[0].dims);
  EXPECT_EQ(padded->outputs[0].dims[1], 32);
}

TEST(PaddedLayer, pads_the_columns_of_products_with_a_constant_matrix) {
  const auto product = [](std::int64_t in, std::int64_t out, bool gemm) {
    rewrite::GraphSketch g;
    const auto x = gemm ? g.input({7, in}) : g.input({2, 7, in});
    return g.build({gemm ? g.gemm(x, out) : g.matmul(x, out)}).layers[0].spec;
  };
  for (const bool gemm : {true, false}) {
    const auto padded = padded_layer(product(60, 1000, gemm), 16);
    ASSERT_TRUE(padded);
    EXPECT_EQ(*padded, product(64, 1008, gemm));
    EXPECT_FALSE(model::check_spec(*padded));
    EXPECT_FALSE(padded_layer(product(64, 1008, gemm), 16));
  }
}

TEST(PaddedLayer, finds_the_columns_of_matrices_that_lie_turned) {
  model::LayerSpec spec;
  spec.op = "gemm";
  const auto f32 = [](std::vector<std::int64_t> dims, bool constant) {
    return model::TensorType{model::DataType::kF32, std::move(dims), constant, {}};
  };
  spec.inputs = {f32({60, 7}, false), f32({10, 60}, true)};
  spec.outputs = {f32({7, 10}, false)};
  spec.attributes = {
      {"alpha", 1.0}, {"beta", 1.0}, {"trans_a", std::int64_t{1}}, {"trans_b", std::int64_t{1}}};
  const auto padded = padded_layer(spec, 8);
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->inputs[0]->dims, (std::vector<std::int64_t>{64, 7}));
  EXPECT_EQ(padded->inputs[1]->dims, (std::vector<std::int64_t>{16, 64}));
  EXPECT_EQ(padded->outputs[0].dims, (std::vector<std::int64_t>{7, 16}));
  EXPECT_FALSE(model::check_spec(*padded));
  spec.inputs[1]->constant = false;
  EXPECT_FALSE(padded_layer(spec, 8)) << "columns of a computed matrix are no channels";
}

TEST(PaddedLayer, is_absent_for_groups_and_other_layers) {
  model::LayerSpec grouped = convolution(60, 65);
  grouped.attributes["group"] = std::int64_t{2};
  EXPECT_FALSE(padded_layer(grouped, 16));
  rewrite::GraphSketch g;
  EXPECT_FALSE(padded_layer(g.build({g.relu(g.input({1, 5, 8, 8}))}).layers[0].spec, 16));
}

TEST(ChannelsPerBlock, are_those_of_the_instructions) {
  EXPECT_EQ(channels_per_block("impl=brgconv:avx512_core;layout=any"), 16);
  EXPECT_EQ(channels_per_block("impl=jit:avx2;layout=any"), 8);
  EXPECT_EQ(channels_per_block("impl=gemm:jit"), std::nullopt);
}

}  // namespace
}  // namespace plumb::analysis
