// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <string>

#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::rewrite {
namespace {

std::map<std::string_view, std::size_t> counts(std::string_view model) {
  const model::Graph graph = model::read_graph(zoo::find(model)->build(1));
  std::map<std::string_view, std::size_t> result;
  for (const Match& match : matches(graph)) {
    ++result[match.rewrite];
  }
  return result;
}

TEST(ZooRewrite, folds_and_fuses_all_of_resnet50) {
  const auto count = counts("resnet50-v1");
  EXPECT_EQ(count.at("conv_bn"), 53U);             // every convolution
  EXPECT_EQ(count.at("conv_bn_activation"), 33U);  // the first, and two in each of 16 blocks
  // The last convolution of each block and the four projections; of a pair one takes the addition.
  EXPECT_EQ(count.at("conv_bn_add_activation"), 20U);
}

TEST(ZooRewrite, fuses_biases_residuals_and_gelu_of_bert) {
  const auto count = counts("bert-base");
  EXPECT_EQ(count.at("matmul_add"), 12U * 6U);        // query, key, value, output, two of the MLP
  EXPECT_EQ(count.at("matmul_add_activation"), 12U);  // GELU
  EXPECT_EQ(count.at("matmul_add_add"), 12U * 2U);    // residuals
}

TEST(ZooRewrite, folds_caffe_scale_layers_of_densenet) {
  const auto count = counts("densenet121");
  EXPECT_EQ(count.at("conv_scale_activation"), 59U);  // the first, and the 1×1 of 58 dense layers
  EXPECT_EQ(count.at("bn_scale_activation"), 121U);   // every BatchNorm, whether folded or not
}

TEST(ZooRewrite, fuses_every_convolution_of_vgg_and_squeezenet_with_its_relu) {
  EXPECT_EQ(counts("vgg16").at("conv_activation"), 13U);
  EXPECT_EQ(counts("vgg16").at("gemm_activation"), 2U);
  EXPECT_EQ(counts("squeezenet1.1").at("conv_activation"), 26U);
}

TEST(ZooRewrite, replaces_layers_that_are_connected_and_leave_one_value) {
  for (const zoo::Entry& entry : zoo::entries()) {
    const model::Graph graph = model::read_graph(entry.build(1));
    for (const Match& match : matches(graph)) {
      ASSERT_GE(match.layers.size(), 2U);
      const model::LayerId last = match.layers.back();
      ASSERT_EQ(match.spec.outputs.front().dims,
                graph.values[graph.layers[last].outputs.front()].type.dims)
          << entry.name << " " << match.key.text;
      ASSERT_EQ(model::parse_key(match.key), match.spec) << match.key.text;
    }
  }
}

}  // namespace
}  // namespace plumb::rewrite
