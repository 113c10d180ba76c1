// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

model::LayerSpec spec_of(const std::string& text) {
  return model::parse_key({text});
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

TensorGraph graph_of(const std::string& key, TensorLayout layout = TensorLayout::kChannelsFirst) {
  return convolution_graph(spec_of(key), layout);
}

const TensorGraph::Convolution& convolution_of(const TensorGraph& graph) {
  return std::get<TensorGraph::Convolution>(graph.operations.at(0));
}

const TensorGraph::Tensor& tensor_of(const TensorGraph& graph, std::size_t index) {
  return graph.tensors.at(index);
}

/// Returns the i-th operation behind the convolution.
const TensorGraph::Pointwise& step_of(const TensorGraph& graph, std::size_t i) {
  return std::get<TensorGraph::Pointwise>(graph.operations.at(i + 1));
}

TEST(ConvolutionGraph, keeps_shapes_groups_and_pads_that_differ_by_side) {
  const TensorGraph graph = graph_of(kPlain);
  EXPECT_THAT(tensor_of(graph, convolution_of(graph).image).dimensions, ElementsAre(2, 8, 5, 7));
  EXPECT_THAT(tensor_of(graph, convolution_of(graph).weights).dimensions, ElementsAre(16, 4, 3, 3));
  EXPECT_THAT(tensor_of(graph, convolution_of(graph).grid).dimensions, ElementsAre(2, 16, 3, 8));
  EXPECT_EQ(tensor_of(graph, convolution_of(graph).grid).type, abi::CudnnCalls::Type::kHalf);
  EXPECT_FALSE(tensor_of(graph, convolution_of(graph).grid).is_virtual);
  EXPECT_THAT(convolution_of(graph).pads_before, ElementsAre(0, 1));
  EXPECT_THAT(convolution_of(graph).pads_after, ElementsAre(0, 2));
  EXPECT_EQ(graph.operations.size(), 1U);
}

TEST(ConvolutionGraph, layouts_differ_in_strides_alone) {
  EXPECT_THAT(graph_of(kPlain).tensors[0].strides, ElementsAre(280, 35, 7, 1));
  const TensorGraph last = graph_of(kPlain, TensorLayout::kChannelsLast);
  EXPECT_THAT(last.tensors[0].strides, ElementsAre(280, 1, 56, 8));
  EXPECT_THAT(last.tensors[0].dimensions, ElementsAre(2, 8, 5, 7));
}

TEST(ConvolutionGraph, bias_and_activation_follow_on_values_that_are_never_stored) {
  const TensorGraph graph = graph_of(fused("relu"));
  ASSERT_EQ(graph.operations.size(), 3U);
  EXPECT_EQ(step_of(graph, 0).mode, abi::CudnnCalls::PointwiseMode::kAdd);
  EXPECT_EQ(step_of(graph, 0).input, convolution_of(graph).grid);
  EXPECT_THAT(graph.tensors[*step_of(graph, 0).operand].dimensions, ElementsAre(1, 16, 1, 1));
  EXPECT_EQ(step_of(graph, 1).mode, abi::CudnnCalls::PointwiseMode::kRelu);
  EXPECT_EQ(step_of(graph, 1).input, step_of(graph, 0).output);
  EXPECT_TRUE(tensor_of(graph, convolution_of(graph).grid).is_virtual);
  EXPECT_TRUE(graph.tensors[step_of(graph, 0).output].is_virtual);
  EXPECT_FALSE(graph.tensors[step_of(graph, 1).output].is_virtual);
}

TEST(ConvolutionGraph, values_between_half_precision_operations_are_f32) {
  std::string key = fused("relu");
  for (std::size_t place = 0; (place = key.find("f32[", place)) != std::string::npos;) {
    key.replace(place, 3, "f16");
  }
  const TensorGraph graph = graph_of(key);
  EXPECT_EQ(tensor_of(graph, convolution_of(graph).grid).type, abi::CudnnCalls::Type::kFloat);
  EXPECT_EQ(graph.tensors.back().type, abi::CudnnCalls::Type::kHalf);
}

TEST(ConvolutionGraph, an_addition_stands_before_the_bias) {
  const TensorGraph graph = graph_of(fused("add@3,relu", ",f32[1,16,5,5]"));
  ASSERT_EQ(graph.operations.size(), 4U);
  EXPECT_THAT(graph.tensors[*step_of(graph, 0).operand].dimensions, ElementsAre(1, 16, 5, 5));
  EXPECT_THAT(graph.tensors[*step_of(graph, 1).operand].dimensions, ElementsAre(1, 16, 1, 1));
  EXPECT_FALSE(step_of(graph, 2).operand);
}

TEST(ConvolutionGraph, parameters_of_activations_are_kept) {
  EXPECT_EQ(step_of(graph_of(fused("clip(0.0,6.0)")), 1).upper_clip, 6.0);
  EXPECT_EQ(step_of(graph_of(fused("leaky_relu(0.1)")), 1).lower_clip_slope, 0.1);
  EXPECT_EQ(step_of(graph_of(fused("silu")), 1).mode, abi::CudnnCalls::PointwiseMode::kSwish);
}

TEST(ConvolutionGraph, one_spatial_axis_becomes_two) {
  const TensorGraph graph = graph_of(
      "v1:conv;in=f32[1,8,20],f32[16,8,3]c;out=f32[1,16,20];acc=f32;math=strict;dilations=[2];"
      "group=1;pads=[2,2];strides=[1]");
  EXPECT_THAT(tensor_of(graph, convolution_of(graph).image).dimensions, ElementsAre(1, 8, 1, 20));
  EXPECT_THAT(convolution_of(graph).dilations, ElementsAre(1, 2));
  EXPECT_THAT(convolution_of(graph).pads_before, ElementsAre(0, 2));
}

TEST(ConvolutionGraph, a_transposed_convolution_is_what_a_convolution_hands_back) {
  const TensorGraph graph = graph_of(
      "v1:conv_transpose;in=f32[1,8,5,5],f32[8,4,3,3]c;out=f32[1,4,10,10];acc=f32;math=strict;"
      "dilations=[1,1];group=1;output_padding=[1,1];pads=[1,1,1,1];strides=[2,2]");
  EXPECT_EQ(convolution_of(graph).direction, TensorGraph::Convolution::Direction::kBackwardData);
  EXPECT_THAT(tensor_of(graph, convolution_of(graph).grid).dimensions, ElementsAre(1, 8, 5, 5));
  EXPECT_THAT(tensor_of(graph, convolution_of(graph).image).dimensions, ElementsAre(1, 4, 10, 10));
  EXPECT_THAT(convolution_of(graph).pads_after, ElementsAre(1, 1));
}

TEST(ConvolutionGraph, says_what_cannot_be_asked_for) {
  const auto why_not = [](const std::string& key) {
    try {
      static_cast<void>(graph_of(key));
    } catch (const Unsupported& reason) {
      return std::string(reason.what());
    }
    return std::string();
  };
  EXPECT_THAT(why_not("v1:eltwise;in=f32[4];out=f32[4];acc=f32;math=strict;fn=relu;parameters=[]"),
              HasSubstr("'eltwise'"));
  EXPECT_THAT(why_not("v1:conv_transpose;in=f32[1,8,5,5],f32[8,4,3,3]c;out=f32[1,4,15,15];acc=f32;"
                      "math=strict;dilations=[2,2];group=1;output_padding=[2,2];pads=[0,0,0,0];"
                      "strides=[2,2]"),
              HasSubstr("output_padding 2 with stride 2"));
  EXPECT_THAT(why_not(fused("hard_swish")), HasSubstr("'hard_swish'"));
  EXPECT_THAT(why_not(fused("clip(-1.0,1.0)")), HasSubstr("'clip'"));
  EXPECT_THAT(
      why_not("v1:conv;in=f64[1,8,5,5],f64[16,8,3,3]c;out=f64[1,16,5,5];acc=f64;math=strict;"
              "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"),
      HasSubstr("f64"));
}

}  // namespace
}  // namespace plumb::cuda
