// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/convolution_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LayerSpec spec_of(const std::string& text) {
  return parse_key({text});
}

const std::string kPlain =
    "v1:conv;in=f16[2,8,5,7],f16[16,4,3,3]c;out=f16[2,16,3,8];acc=f32;math=strict;"
    "dilations=[1,1];group=2;pads=[0,1,0,2];strides=[1,1]";

std::string fused(const std::string& epilogue, const std::string& extra = "") {
  return "v1:conv;in=f32[1,8,5,5],f32[16,8,3,3]c,f32[16]c" + extra +
         ";out=f32[1,16,5,5];acc=f32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];"
         "strides=[1,1];epilogue=" +
         epilogue;
}

ConvolutionGraph graph_of(const std::string& key,
                          TensorLayout layout = TensorLayout::kChannelsFirst) {
  const TranslatedLayer layer = convolution_graph(spec_of(key), layout);
  EXPECT_EQ(layer.why_not, "");
  return layer.graph.value_or(ConvolutionGraph{});
}

TEST(ConvolutionGraph, keeps_shapes_groups_and_pads_that_differ_by_side) {
  const ConvolutionGraph graph = graph_of(kPlain);
  EXPECT_THAT(graph.tensors[graph.input].dimensions, ElementsAre(2, 8, 5, 7));
  EXPECT_THAT(graph.tensors[graph.weights].dimensions, ElementsAre(16, 4, 3, 3));
  EXPECT_THAT(graph.tensors[graph.result].dimensions, ElementsAre(2, 16, 3, 8));
  EXPECT_EQ(graph.tensors[graph.result].type, abi::Type::kHalf);
  EXPECT_FALSE(graph.tensors[graph.result].is_virtual);
  EXPECT_THAT(graph.pads_before, ElementsAre(0, 1));
  EXPECT_THAT(graph.pads_after, ElementsAre(0, 2));
  EXPECT_TRUE(graph.steps.empty());
}

TEST(ConvolutionGraph, layouts_differ_in_strides_alone) {
  EXPECT_THAT(graph_of(kPlain).tensors[0].strides, ElementsAre(280, 35, 7, 1));
  const ConvolutionGraph last = graph_of(kPlain, TensorLayout::kChannelsLast);
  EXPECT_THAT(last.tensors[0].strides, ElementsAre(280, 1, 56, 8));
  EXPECT_THAT(last.tensors[0].dimensions, ElementsAre(2, 8, 5, 7));
}

TEST(ConvolutionGraph, bias_and_activation_follow_on_values_that_are_never_stored) {
  const ConvolutionGraph graph = graph_of(fused("relu"));
  ASSERT_EQ(graph.steps.size(), 2U);
  EXPECT_EQ(graph.steps[0].mode, abi::PointwiseMode::kAdd);
  EXPECT_EQ(graph.steps[0].input, graph.result);
  EXPECT_THAT(graph.tensors[*graph.steps[0].operand].dimensions, ElementsAre(1, 16, 1, 1));
  EXPECT_EQ(graph.steps[1].mode, abi::PointwiseMode::kRelu);
  EXPECT_EQ(graph.steps[1].input, graph.steps[0].output);
  EXPECT_TRUE(graph.tensors[graph.result].is_virtual);
  EXPECT_TRUE(graph.tensors[graph.steps[0].output].is_virtual);
  EXPECT_FALSE(graph.tensors[graph.steps[1].output].is_virtual);
}

TEST(ConvolutionGraph, values_between_half_precision_operations_are_f32) {
  std::string key = fused("relu");
  for (std::size_t place = 0; (place = key.find("f32[", place)) != std::string::npos;) {
    key.replace(place, 3, "f16");
  }
  const ConvolutionGraph graph = graph_of(key);
  EXPECT_EQ(graph.tensors[graph.result].type, abi::Type::kFloat);
  EXPECT_EQ(graph.tensors[graph.steps.back().output].type, abi::Type::kHalf);
}

TEST(ConvolutionGraph, an_addition_stands_before_the_bias) {
  const ConvolutionGraph graph = graph_of(fused("add@3,relu", ",f32[1,16,5,5]"));
  ASSERT_EQ(graph.steps.size(), 3U);
  EXPECT_THAT(graph.tensors[*graph.steps[0].operand].dimensions, ElementsAre(1, 16, 5, 5));
  EXPECT_THAT(graph.tensors[*graph.steps[1].operand].dimensions, ElementsAre(1, 16, 1, 1));
  EXPECT_FALSE(graph.steps[2].operand);
}

TEST(ConvolutionGraph, parameters_of_activations_are_kept) {
  EXPECT_EQ(graph_of(fused("clip(0.0,6.0)")).steps[1].upper_clip, 6.0);
  EXPECT_EQ(graph_of(fused("leaky_relu(0.1)")).steps[1].lower_clip_slope, 0.1);
  EXPECT_EQ(graph_of(fused("silu")).steps[1].mode, abi::PointwiseMode::kSwish);
}

TEST(ConvolutionGraph, one_spatial_axis_becomes_two) {
  const ConvolutionGraph graph = graph_of(
      "v1:conv;in=f32[1,8,20],f32[16,8,3]c;out=f32[1,16,20];acc=f32;math=strict;dilations=[2];"
      "group=1;pads=[2,2];strides=[1]");
  EXPECT_THAT(graph.tensors[graph.input].dimensions, ElementsAre(1, 8, 1, 20));
  EXPECT_THAT(graph.dilations, ElementsAre(1, 2));
  EXPECT_THAT(graph.pads_before, ElementsAre(0, 2));
}

TEST(ConvolutionGraph, says_what_cannot_be_asked_for) {
  const auto why_not = [](const std::string& key) {
    const TranslatedLayer layer = convolution_graph(spec_of(key), TensorLayout::kChannelsFirst);
    EXPECT_FALSE(layer.graph);
    return layer.why_not;
  };
  EXPECT_THAT(why_not("v1:eltwise;in=f32[4];out=f32[4];acc=f32;math=strict;fn=relu;parameters=[]"),
              HasSubstr("'eltwise'"));
  EXPECT_THAT(why_not(fused("hard_swish")), HasSubstr("'hard_swish'"));
  EXPECT_THAT(why_not(fused("clip(-1.0,1.0)")), HasSubstr("'clip'"));
  EXPECT_THAT(
      why_not("v1:conv;in=f64[1,8,5,5],f64[16,8,3,3]c;out=f64[1,16,5,5];acc=f64;math=strict;"
              "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"),
      HasSubstr("f64"));
}

}  // namespace
}  // namespace plumb::cuda
