// SPDX-License-Identifier: Apache-2.0
#include "suites/zoo/graph_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "harness/base/error.hpp"

namespace plumb::zoo {
namespace {

using testing::ElementsAre;

TEST(GraphBuilder, computes_the_shapes_of_windows) {
  GraphBuilder net("t", 9);
  const Wire image = net.input("data", {2, 3, 224, 224});
  const Wire stem = image.conv({.filters = 64, .kernel = 7, .stride = 2, .pad = 3});
  EXPECT_THAT(stem.shape(), ElementsAre(2, 64, 112, 112));
  EXPECT_THAT(stem.max_pool({.kernel = 3, .stride = 2}).shape(), ElementsAre(2, 64, 55, 55));
  EXPECT_THAT(stem.max_pool({.kernel = 3, .stride = 2, .pads = {0, 0, 1, 1}}).shape(),
              ElementsAre(2, 64, 56, 56));
  EXPECT_THAT(stem.global_average_pool().shape(), ElementsAre(2, 64, 1, 1));
}

TEST(GraphBuilder, computes_the_shapes_of_rearrangements) {
  GraphBuilder net("t", 9);
  const Wire x = net.input("data", {2, 3, 4, 5});
  EXPECT_THAT(x.reshape({0, -1}).shape(), ElementsAre(2, 60));
  EXPECT_THAT(x.reshape({-1, 20}).shape(), ElementsAre(6, 20));
  EXPECT_THAT(x.flatten().shape(), ElementsAre(2, 60));
  EXPECT_THAT(x.transpose({0, 2, 3, 1}).shape(), ElementsAre(2, 4, 5, 3));
  EXPECT_THAT(net.weight("w", {7}).unsqueeze({1, 2}).shape(), ElementsAre(7, 1, 1));
  EXPECT_THAT(net.concat({x, x, x}, 1).shape(), ElementsAre(2, 9, 4, 5));
  EXPECT_THROW(x.reshape({7, -1}), Error);
}

TEST(GraphBuilder, numbers_nodes_within_their_prefix) {
  GraphBuilder net("t", 9);
  Wire x = net.input("data", {1, 3, 8, 8}).relu().relu();
  net.enter("stage1_");
  x = x.relu().conv({.filters = 4, .bias = true}, "reduce");
  net.output(x);
  const onnx::ModelProto model = net.finish();
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) {
    names.push_back(node.name());
  }
  EXPECT_THAT(names, ElementsAre("relu0", "relu1", "stage1_relu0", "stage1_reduce"));
  EXPECT_EQ(model.graph().output(0).name(), "stage1_reduce_out");
}

TEST(GraphBuilder, keeps_weights_without_data_and_constants_with) {
  GraphBuilder net("t", 9);
  net.output(net.input("data", {1, 3, 8, 8}).conv({.filters = 4, .kernel = 3}).reshape({0, -1}));
  const onnx::ModelProto model = net.finish();
  ASSERT_EQ(model.graph().initializer_size(), 2);
  const auto& weight = model.graph().initializer(0);
  EXPECT_THAT(weight.dims(), ElementsAre(4, 3, 3, 3));
  EXPECT_EQ(weight.data_type(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(weight.float_data_size(), 0);
  EXPECT_TRUE(weight.raw_data().empty());
  EXPECT_THAT(model.graph().initializer(1).int64_data(), ElementsAre(0, -1));
}

TEST(GraphBuilder, follows_the_opset_in_what_changed) {
  const auto node_of = [](std::int64_t opset, auto&& append) {
    GraphBuilder net("t", opset);
    append(net);
    return net.finish().graph().node(0);
  };
  const auto normalise = [](GraphBuilder& net) { net.input("x", {1, 3, 8, 8}).batch_norm(); };
  EXPECT_EQ(node_of(7, normalise).attribute_size(), 3);  // epsilon, momentum, spatial
  EXPECT_EQ(node_of(9, normalise).attribute_size(), 2);
  const auto widen = [](GraphBuilder& net) { net.input("x", {3}).unsqueeze({1}); };
  EXPECT_EQ(node_of(9, widen).input_size(), 1);
  EXPECT_EQ(node_of(17, widen).input_size(), 2);
}

}  // namespace
}  // namespace plumb::zoo
