// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "harness/model/onnx/weights.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::zoo {
namespace {

using Kind = model::WeightStream::Role::Kind;

TEST(WeightRole, counts_the_fan_in_of_filters_and_matrices) {
  GraphBuilder net("t", 9);
  const Wire grouped =
      net.input("x", {1, 32, 8, 8}).conv({.filters = 16, .kernel = 3, .group = 4}, "grouped");
  const Wire flat = grouped.global_average_pool().flatten();
  const Wire dense = flat.gemm(10, "dense");
  net.output(dense.matmul(net.weight("plain", {10, 4})));
  const onnx::ModelProto model = net.finish();
  const auto roles = model::weight_roles(model.graph());

  EXPECT_EQ(roles.at("grouped_weight").kind, Kind::kMatrix);
  EXPECT_EQ(roles.at("grouped_weight").fan_in, 8 * 3 * 3);
  EXPECT_EQ(roles.at("dense_weight").fan_in, 16);
  EXPECT_EQ(roles.at("dense_bias").kind, Kind::kOffset);
  EXPECT_EQ(roles.at("plain").fan_in, 10);
}

TEST(WeightRole, knows_the_operands_of_a_batch_norm) {
  GraphBuilder net("t", 9);
  net.output(net.input("x", {1, 3, 8, 8}).batch_norm());
  const onnx::ModelProto model = net.finish();
  const auto roles = model::weight_roles(model.graph());
  EXPECT_EQ(roles.at("batchnorm0_gamma").kind, Kind::kScale);
  EXPECT_EQ(roles.at("batchnorm0_beta").kind, Kind::kOffset);
  EXPECT_EQ(roles.at("batchnorm0_running_mean").kind, Kind::kOffset);
  EXPECT_EQ(roles.at("batchnorm0_running_var").kind, Kind::kVariance);
}

TEST(WeightRole, looks_through_what_rearranges_a_weight) {
  // LeNet reshapes [16,4,4,10] to [256,10], Inception-v1 [1,1,1000,1024] to [1000,1024]
  // (transposed).
  EXPECT_EQ(model::weight_roles(find("lenet")->build(1).graph()).at("dense_weight").fan_in, 256);
  const auto inception = model::weight_roles(find("inception-v1")->build(1).graph());
  EXPECT_EQ(inception.at("classifier_weight").fan_in, 1024);
  const auto densenet = model::weight_roles(find("densenet121")->build(1).graph());
  EXPECT_EQ(densenet.at("scale0_w").kind, Kind::kScale);
  EXPECT_EQ(densenet.at("scale0_b").kind, Kind::kOffset);
}

TEST(WeightRole, sees_where_a_residual_branch_ends) {
  const auto v1 = model::weight_roles(find("resnet50-v1")->build(1).graph());
  EXPECT_FALSE(v1.at("conv0_weight").ends_branch);
  EXPECT_FALSE(v1.at("stage1_conv0_weight").ends_branch);
  EXPECT_FALSE(v1.at("stage1_conv1_weight").ends_branch);
  EXPECT_TRUE(v1.at("stage1_conv2_weight").ends_branch);  // behind a BatchNorm
  EXPECT_TRUE(v1.at("stage1_conv3_weight").ends_branch);  // the shortcut's
  const auto bert = model::weight_roles(find("bert-base")->build(1).graph());
  EXPECT_TRUE(bert.at("layer0_attention_output_weight").ends_branch);  // behind a bias
  EXPECT_FALSE(bert.at("layer0_intermediate_weight").ends_branch);
  EXPECT_EQ(bert.at("embeddings_word_weight").kind, Kind::kEmbedding);
  const auto lenet = model::weight_roles(find("lenet")->build(1).graph());
  EXPECT_FALSE(lenet.at("conv0_weight").ends_branch);  // only a bias is added
}

TEST(WeightRole, survives_hostile_extents) {
  onnx::GraphProto graph;
  auto& weight = *graph.add_initializer();
  weight.set_name("w");
  for (const std::int64_t extent : {std::int64_t{2}, std::int64_t{1} << 62, std::int64_t{-5}}) {
    weight.add_dims(extent);
  }
  auto& node = *graph.add_node();
  node.set_op_type("Conv");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  EXPECT_EQ(model::weight_roles(graph).at("w").fan_in,
            std::int64_t{1} << 39);  // cut off at 2^40 elements
}

TEST(WeightRole, survives_a_cyclic_graph) {
  onnx::GraphProto graph;
  auto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.add_dims(4);
  for (const auto& [from, to] : {std::pair{"w", "a"}, std::pair{"a", "b"}, std::pair{"b", "a"}}) {
    auto& node = *graph.add_node();
    node.set_op_type("Identity");
    node.add_input(from);
    node.add_output(to);
  }
  EXPECT_EQ(model::weight_roles(graph).at("w").kind, Kind::kOffset);
}

}  // namespace
}  // namespace plumb::zoo
