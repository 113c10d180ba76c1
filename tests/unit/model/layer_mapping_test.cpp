// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/model_text.hpp"

namespace plumb::model {
namespace {

using test::graph_of_text;
using test::key_of_text;
using testing::EndsWith;
using testing::HasSubstr;

TEST(ConvolutionLayers, write_out_every_default) {
  EXPECT_EQ(key_of_text(
                "g (float[1,4,8,8] x, float[6,4,3,3] w) => (float[1,6,6,6] y) { y = Conv(x, w) }"),
            "v1:conv;in=f32[1,4,8,8],f32[6,4,3,3];out=f32[1,6,6,6];acc=f32;math=strict;dilations=["
            "1,1];group=1;"
            "pads=[0,0,0,0];strides=[1,1]");
}

TEST(ConvolutionLayers, keep_what_the_published_key_lost) {
  const std::string plain = key_of_text(
      "g (float[1,4,8,8] x) => (y) <float[6,4,3,3] w> { y = Conv<pads=[1,1,1,1]>(x, w) }");
  const std::string biased = key_of_text(
      "g (float[1,4,8,8] x) => (y) <float[6,4,3,3] w, float[6] b> { y = Conv<pads=[1,1,1,1]>(x, w, "
      "b) }");
  const std::string asymmetric = key_of_text(
      "g (float[1,4,8,8] x) => (y) <float[6,4,3,3] w> { y = Conv<pads=[0,0,2,2]>(x, w) }");
  const std::string dilated = key_of_text(
      "g (float[1,4,8,8] x) => (y) <float[6,4,3,3] w> { y = Conv<pads=[2,2,2,2], "
      "dilations=[2,2]>(x, w) }");
  EXPECT_THAT(plain, HasSubstr("in=f32[1,4,8,8],f32[6,4,3,3]c;out=f32[1,6,8,8]"));
  EXPECT_THAT(biased, HasSubstr("f32[6,4,3,3]c,f32[6]c;out=f32[1,6,8,8]"));
  EXPECT_THAT(asymmetric, HasSubstr("out=f32[1,6,8,8]"));
  EXPECT_THAT(asymmetric, HasSubstr("pads=[0,0,2,2]"));
  EXPECT_THAT(dilated, HasSubstr("out=f32[1,6,8,8]"));
  EXPECT_THAT(dilated, HasSubstr("dilations=[2,2];group=1;pads=[2,2,2,2]"));
}

TEST(ConvolutionLayers, resolve_automatic_padding) {
  // 224 in, stride 2, kernel 3: 112 out need (112-1)·2+3-224 = 1 of padding, at the end or at the
  // begin.
  EXPECT_THAT(
      key_of_text("g (float[1,3,224,224] x) => (y) <float[8,3,3,3] w> "
                  "{ y = Conv<auto_pad=\"SAME_UPPER\", strides=[2,2]>(x, w) }"),
      HasSubstr("out=f32[1,8,112,112];acc=f32;math=strict;dilations=[1,1];group=1;pads=[0,0,1,1]"));
  EXPECT_THAT(key_of_text("g (float[1,3,224,224] x) => (y) <float[8,3,3,3] w> "
                          "{ y = Conv<auto_pad=\"SAME_LOWER\", strides=[2,2]>(x, w) }"),
              HasSubstr("pads=[1,1,0,0]"));
  EXPECT_THAT(
      key_of_text(
          "g (float[1,3,9,9] x) => (y) <float[8,3,3,3] w> { y = Conv<auto_pad=\"VALID\">(x, w) }"),
      HasSubstr("pads=[0,0,0,0]"));
}

TEST(ConvolutionLayers, take_one_and_three_dimensions_groups_and_transposes) {
  EXPECT_THAT(key_of_text("g (float[1,4,8] x) => (y) <float[4,1,3] w> { y = Conv<group=4>(x, w) }"),
              EndsWith("dilations=[1];group=4;pads=[0,0];strides=[1]"));
  EXPECT_THAT(key_of_text("g (float[1,2,4,4,4] x) => (y) <float[3,2,2,2,2] w> { y = Conv(x, w) }"),
              HasSubstr("out=f32[1,3,3,3,3]"));
  EXPECT_THAT(
      key_of_text("g (float[1,1,3,3] x) => (y) <float[1,2,3,3] w> "
                  "{ y = ConvTranspose<strides=[3,2], output_shape=[10,8]>(x, w) }"),
      HasSubstr(
          "out=f32[1,2,10,8];acc=f32;math=strict;dilations=[1,1];group=1;output_padding=[1,1];"
          "pads=[0,0,0,0];strides=[3,2]"));
}

TEST(GemmLayers, normalise_what_does_not_matter) {
  EXPECT_THAT(
      key_of_text("g (float[1,8] x) => (y) <float[4,8] w> { y = Gemm<transB=1, beta=0.5>(x, w) }"),
      EndsWith("in=f32[1,8],f32[4,8]c;out=f32[1,4];acc=f32;math=strict;alpha=1.0;beta=1.0;trans_a="
               "0;trans_b=1"));
  EXPECT_THAT(key_of_text("g (float[2,3,4,5] a, float[5,6] b) => (y) { y = MatMul(a, b) }"),
              EndsWith("out=f32[2,3,4,6];acc=f32;math=strict"));
}

TEST(NormalizationLayers, read_the_mode_that_an_absent_attribute_means) {
  const std::string graph =
      "g (float[1,4,2,2] x) => (y) <float[4] s, float[4] b, float[4] m, float[4] v> "
      "{ y = BatchNormalization(x, s, b, m, v) }";
  EXPECT_THAT(key_of_text(graph, 7), EndsWith("epsilon=1e-05;mode=spatial"));
  EXPECT_EQ(key_of_text(graph, 7), key_of_text(graph, 15));
  EXPECT_THAT(key_of_text("g (float[1,4,2,2] x) => (y) <float[4,2,2] s, float[4,2,2] b, "
                          "float[4,2,2] m, float[4,2,2] v> "
                          "{ y = BatchNormalization<spatial=0>(x, s, b, m, v) }",
                          7),
              EndsWith("mode=per_activation"));
  EXPECT_THAT(
      graph_of_text("g (float[1,4,2,2] x) => (y) <float[4] s, float[4] b, float[4] m, float[4] v> "
                    "{ y, a, c = BatchNormalization<training_mode=1>(x, s, b, m, v) }")
          .layers[0]
          .reason,
      HasSubstr("training_mode"));
}

TEST(NormalizationLayers, cover_layer_group_instance_and_local_response) {
  EXPECT_THAT(key_of_text("g (float[1,8,16] x) => (y) <float[16] s, float[16] b> "
                          "{ y = LayerNormalization<epsilon=1e-12>(x, s, b) }"),
              EndsWith("axis=2;epsilon=1e-12"));
  EXPECT_THAT(
      key_of_text("g (float[1,8,16] x) => (y) <float[16] s> { y = RMSNormalization(x, s) }", 23),
      EndsWith("in=f32[1,8,16],f32[16]c;out=f32[1,8,16];acc=f32;math=strict;axis=2;epsilon=1e-05"));
  EXPECT_THAT(key_of_text("g (float[1,8,4,4] x) => (y) <float[8] s, float[8] b> "
                          "{ y = GroupNormalization<num_groups=2>(x, s, b) }",
                          21),
              EndsWith("epsilon=1e-05;groups=2"));
  EXPECT_THAT(key_of_text("g (float[1,8,4,4] x) => (y) <float[8] s, float[8] b> "
                          "{ y = InstanceNormalization(x, s, b) }"),
              HasSubstr("v1:instance_norm"));
  EXPECT_THAT(key_of_text("g (float[1,8,4,4] x) => (y) { y = LRN<size=5>(x) }"),
              EndsWith("alpha=1e-04;beta=0.75;bias=1.0;size=5"));
}

TEST(NormalizationLayers, coerce_old_softmax_only_where_that_matters) {
  const std::string graph = "g (float[2,3,4] x) => (y) { y = Softmax(x) }";
  EXPECT_THAT(key_of_text(graph, 11), EndsWith("axis=1;coerce=1;log=0"));
  EXPECT_THAT(key_of_text(graph, 13), EndsWith("axis=2;coerce=0;log=0"));
  const std::string flat = "g (float[2,1000] x) => (y) { y = Softmax(x) }";
  EXPECT_EQ(key_of_text(flat, 11), key_of_text(flat, 13));
  EXPECT_THAT(key_of_text("g (float[2,3] x) => (y) { y = LogSoftmax<axis=0>(x) }"),
              EndsWith("axis=0;coerce=0;log=1"));
}

TEST(PoolingLayers, distinguish_counting_the_padding) {
  const std::string exclude = key_of_text(
      "g (float[1,1,8,8] x) => (y) { y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x) }");
  const std::string include = key_of_text(
      "g (float[1,1,8,8] x) => (y) { y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], "
      "count_include_pad=1>(x) }");
  EXPECT_THAT(exclude, HasSubstr("count_include_pad=0"));
  EXPECT_THAT(include, HasSubstr("count_include_pad=1"));
  // Without padding both are the same work.
  EXPECT_EQ(key_of_text("g (float[1,1,8,8] x) => (y) { y = AveragePool<kernel_shape=[2,2], "
                        "count_include_pad=1>(x) }"),
            key_of_text("g (float[1,1,8,8] x) => (y) { y = AveragePool<kernel_shape=[2,2]>(x) }"));
}

TEST(PoolingLayers, give_a_global_pool_the_key_of_a_pool_over_everything) {
  const std::string global =
      key_of_text("g (float[1,16,7,7] x) => (y) { y = GlobalAveragePool(x) }");
  EXPECT_EQ(global,
            "v1:average_pool;in=f32[1,16,7,7];out=f32[1,16,1,1];acc=f32;math=strict;ceil_mode=0;"
            "count_include_pad=0;dilations=[1,1];kernel=[7,7];pads=[0,0,0,0];strides=[1,1]");
  EXPECT_EQ(global,
            key_of_text("g (float[1,16,7,7] x) => (y) { y = AveragePool<kernel_shape=[7,7]>(x) }"));
  EXPECT_EQ(global,
            key_of_text("g (float[1,16,7,7] x) => (y) { y = AveragePool<kernel_shape=[7,7], "
                        "strides=[7,7]>(x) }"));
}

TEST(PoolingLayers, keep_ceil_mode_only_where_it_adds_a_window) {
  EXPECT_THAT(key_of_text("g (float[1,1,6,6] x) => (y) { y = MaxPool<kernel_shape=[3,3], "
                          "strides=[2,2], ceil_mode=1>(x) }"),
              HasSubstr("out=f32[1,1,3,3];acc=f32;math=strict;ceil_mode=1"));
  EXPECT_THAT(key_of_text("g (float[1,1,7,7] x) => (y) { y = MaxPool<kernel_shape=[3,3], "
                          "strides=[2,2], ceil_mode=1>(x) }"),
              HasSubstr("out=f32[1,1,3,3];acc=f32;math=strict;ceil_mode=0"));
  EXPECT_THAT(
      graph_of_text("g (float[1,1,6,6] x) => (y, i) { y, i = MaxPool<kernel_shape=[2,2]>(x) }")
          .layers[0]
          .reason,
      HasSubstr("indices"));
}

TEST(ElementwiseLayers, carry_function_and_parameters) {
  EXPECT_THAT(key_of_text("g (float[4] x) => (y) { y = LeakyRelu(x) }"),
              EndsWith("fn=leaky_relu;parameters=[0.01]"));
  EXPECT_THAT(key_of_text("g (float[4] x) => (y) { y = HardSigmoid(x) }"),
              EndsWith("fn=hard_sigmoid;parameters=[0.2,0.5]"));
  EXPECT_THAT(key_of_text("g (float[4] x) => (y) { y = Gelu<approximate=\"tanh\">(x) }", 20),
              EndsWith("fn=gelu_tanh;parameters=[]"));
  EXPECT_THAT(key_of_text("g (float[4] x) => (y) { y = Relu(x) }"),
              EndsWith("fn=relu;parameters=[]"));
}

TEST(ElementwiseLayers, read_the_experimental_operators_that_scale) {
  EXPECT_THAT(
      key_of_text(
          "g (float[1,3,4,4] x) => (y) { y = ImageScaler<scale=0.5, bias=[1.0,1.0,1.0]>(x) }", 8),
      EndsWith(
          "in=f32[1,3,4,4];out=f32[1,3,4,4];acc=f32;math=strict;fn=linear;parameters=[0.5,1.0]"));
  EXPECT_THAT(key_of_text("g (float[1,3,4,4] x) => (y) { y = ImageScaler(x) }", 8),
              EndsWith("fn=linear;parameters=[1.0,0.0]"));
  EXPECT_THAT(key_of_text("g (float[4] x) => (y) { y = Affine<alpha=2.0, beta=3.0>(x) }", 8),
              EndsWith("fn=linear;parameters=[2.0,3.0]"));
  EXPECT_THAT(
      graph_of_text("g (float[1,3,4,4] x) => (y) { y = ImageScaler<bias=[1.0,2.0,3.0]>(x) }", 8)
          .layers[0]
          .reason,
      HasSubstr("different bias for each channel"));
}

TEST(ElementwiseLayers, read_clip_of_both_versions_alike) {
  const std::string old =
      key_of_text("g (float[4] x) => (y) { y = Clip<min=0.0, max=6.0>(x) }", 10);
  const std::string recent =
      key_of_text("g (float[4] x) => (y) <float l = {0.0}, float h = {6.0}> { y = Clip(x, l, h) }");
  EXPECT_THAT(old, EndsWith("fn=clip;parameters=[0.0,6.0]"));
  EXPECT_EQ(old, recent);
  EXPECT_THAT(key_of_text("g (float[4] x) => (y) <float h = {6.0}> { y = Clip(x, , h) }"),
              EndsWith("parameters=[-inf,6.0]"));
  EXPECT_THAT(key_of_text("g (float[4] x) => (y) { y = Clip(x) }", 7),
              EndsWith("parameters=[-inf,inf]"));
  EXPECT_THAT(key_of_text("g (float[4] x, float l) => (y) { y = Clip(x, l) }"),
              HasSubstr("known before the run"));
}

TEST(ElementwiseLayers, turn_sums_of_two_into_additions) {
  EXPECT_EQ(key_of_text("g (float[4] a, float[4] b) => (y) { y = Sum(a, b) }"),
            key_of_text("g (float[4] a, float[4] b) => (y) { y = Add(a, b) }"));
  EXPECT_THAT(key_of_text("g (float[4] a, float[4] b, float[4] c) => (y) { y = Sum(a, b, c) }"),
              HasSubstr("v1:sum"));
  EXPECT_THAT(key_of_text("g (float[4] a) => (y) { y = Sum(a) }"), HasSubstr("v1:view"));
  EXPECT_THAT(key_of_text("g (float[2,1,3] a, float[4,1] b) => (y) { y = Mul(a, b) }"),
              HasSubstr("out=f32[2,4,3];acc=f32;math=strict;fn=mul"));
  EXPECT_THAT(key_of_text("g (float[2] a, float[2] b) => (y) { y = Less(a, b) }"),
              HasSubstr("out=bool[2];acc=f32"));
  EXPECT_THAT(key_of_text("g (float[2] a, float[2] b) => (y) { y = LessOrEqual(a, b) }", 12),
              HasSubstr("out=bool[2];acc=f32"));
}

TEST(MovementLayers, read_old_attributes_and_new_inputs_alike) {
  EXPECT_EQ(
      key_of_text("g (float[8,6] x) => (y) { y = Slice<starts=[-3], ends=[1000], axes=[0]>(x) }",
                  9),
      key_of_text(
          "g (float[8,6] x) => (y) <int64[2] s = {0,5}, int64[2] e = {6,8}, int64[2] a = {1,0}> "
          "{ y = Slice(x, s, e, a) }"));
  EXPECT_EQ(key_of_text("g (float[4,4] x) => (y) { y = Pad<pads=[1,0,0,2], value=1.5>(x) }", 10),
            key_of_text("g (float[4,4] x) => (y) <int64[4] p = {1,0,0,2}, float v = {1.5}> { y = "
                        "Pad(x, p, v) }"));
  EXPECT_EQ(key_of_text("g (float[1,2,3] x) => (y) { y = Unsqueeze<axes=[0]>(x) }", 11),
            key_of_text("g (float[1,2,3] x) => (y) <int64[1] a = {0}> { y = Unsqueeze(x, a) }"));
  EXPECT_EQ(key_of_text("g (float[6,2] x) => (y, z) { y, z = Split<axis=0>(x) }", 11),
            key_of_text("g (float[6,2] x) => (y, z) { y, z = Split<num_outputs=2>(x) }", 18));
}

TEST(MovementLayers, normalise_axes_and_permutations) {
  EXPECT_THAT(key_of_text("g (float[2,3,4] x) => (y) { y = Transpose(x) }"),
              HasSubstr("out=f32[4,3,2];acc=f32;math=strict;perm=[2,1,0]"));
  EXPECT_THAT(key_of_text("g (float[2,3] a, float[2,4] b) => (y) { y = Concat<axis=-1>(a, b) }"),
              EndsWith("axis=1"));
  EXPECT_THAT(key_of_text("g (int64[1,5] i) => (y) <float[100,8] w> { y = Gather(w, i) }"),
              HasSubstr("in=f32[100,8]c,s64[1,5];out=f32[1,5,8];acc=f32;math=strict;axis=0;"
                        "distribution=uniform"));
  EXPECT_THAT(key_of_text("g (float[8,6] x) => (y) <int64[1] s = {7}, int64[1] e = {-9}, int64[1] "
                          "a = {0}, int64[1] t = {-2}> "
                          "{ y = Slice(x, s, e, a, t) }"),
              HasSubstr("out=f32[4,6];acc=f32;math=strict;axes=[0];starts=[7];steps=[-2]"));
}

TEST(MovementLayers, make_dropout_at_inference_a_view) {
  const Graph graph = graph_of_text("g (float[4] x) => (y) { y, mask = Dropout(x) }", 9);
  ASSERT_EQ(graph.layers.size(), 1U);
  EXPECT_EQ(graph.layers[0].role, Layer::Role::kView);
  EXPECT_EQ(graph.layers[0].outputs.size(), 1U);
  EXPECT_THAT(key_of_text("g (float[4] x) => (y, mask) { y, mask = Dropout(x) }", 9),
              HasSubstr("mask"));
}

TEST(ResizeLayers, keep_only_what_the_mode_reads) {
  const std::string upsample =
      key_of_text("g (float[1,1,4,4] x) => (y) { y = Upsample<scales=[1.0,1.0,2.0,2.0]>(x) }", 7);
  EXPECT_THAT(
      upsample,
      EndsWith("antialias=0;coordinates=asymmetric;cubic_a=-0.75;exclude_outside=0;mode=nearest;"
               "nearest_mode=floor;scales=[1.0,1.0,2.0,2.0]"));
  EXPECT_EQ(upsample,
            key_of_text(
                "g (float[1,1,4,4] x) => (y) <float[4] s = {1,1,2,2}> { y = Upsample(x, s) }", 9));
  EXPECT_EQ(upsample,
            key_of_text("g (float[1,1,4,4] x) => (y) <float[4] s = {1,1,2,2}> { y = Resize<"
                        "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\", "
                        "cubic_coeff_a=-0.5>(x, , s) }"));
  EXPECT_THAT(key_of_text("g (float[1,1,4,4] x) => (y) <int64[4] s = {1,1,6,2}> { y = "
                          "Resize<mode=\"linear\">(x, , , s) }"),
              HasSubstr("coordinates=half_pixel;cubic_a=-0.75;exclude_outside=0;mode=linear;"
                        "nearest_mode=round_prefer_floor;scales=[1.0,1.0,1.5,0.5]"));
}

TEST(ReductionLayers, normalise_their_axes) {
  const std::string attribute =
      key_of_text("g (float[2,3,4] x) => (y) { y = ReduceMean<axes=[-1,1]>(x) }");
  EXPECT_THAT(attribute,
              EndsWith("out=f32[2,1,1];acc=f32;math=strict;axes=[1,2];fn=mean;keepdims=1"));
  EXPECT_EQ(
      attribute,
      key_of_text("g (float[2,3,4] x) => (y) <int64[2] a = {1,2}> { y = ReduceMean(x, a) }", 18));
  EXPECT_THAT(key_of_text("g (float[2,3] x) => (y) { y = ReduceSum<keepdims=0>(x) }"),
              EndsWith("out=f32[];acc=f32;math=strict;axes=[0,1];fn=sum;keepdims=0"));
  EXPECT_THAT(key_of_text("g (float[2,3] x) => (y) { y = ReduceSum<noop_with_empty_axes=1>(x) }"),
              HasSubstr("v1:view"));
  EXPECT_THAT(key_of_text("g (float[2,3] x) => (y) { y = ArgMax<axis=-1, keepdims=0>(x) }"),
              EndsWith("out=s64[2];acc=f32;math=strict;axis=1;fn=argmax;keepdims=0;select_last=0"));
}

TEST(AttentionLayers, write_out_heads_and_scale) {
  const std::string heads_apart = key_of_text(
      "g (float[1,8,9,64] q, float[1,2,9,64] k, float[1,2,9,64] v) => (y) "
      "{ y = Attention<is_causal=1>(q, k, v) }",
      23);
  EXPECT_EQ(heads_apart,
            "v1:attention;in=f32[1,8,9,64],f32[1,2,9,64],f32[1,2,9,64];out=f32[1,8,9,64];acc=f32;"
            "math=strict;causal=1;kv_heads=2;outputs=y;q_heads=8;scale=0.125;softcap=0.0");
  EXPECT_THAT(key_of_text("g (float[2,1,128] q, float[2,1,32] k, float[2,1,32] v, "
                          "float[2,2,7,16] p, float[2,2,7,16] w) => (y, a, b) "
                          "{ y, a, b = Attention<q_num_heads=8, kv_num_heads=2, softcap=30.0, "
                          "scale=0.5>(q, k, v, , p, w) }",
                          23),
              HasSubstr("f32[2,1,32],-,f32[2,2,7,16],f32[2,2,7,16];out=f32[2,1,128],f32[2,2,8,16],"
                        "f32[2,2,8,16];acc=f32;math=strict;causal=0;kv_heads=2;outputs=ykv;"
                        "q_heads=8;scale=0.5;softcap=30.0"));
}

TEST(AttentionLayers, refuse_what_the_key_cannot_say) {
  const Graph scores = graph_of_text(
      "g (float[1,2,9,64] q, float[1,2,9,64] k, float[1,2,9,64] v) => (y, s) "
      "{ y, , , s = Attention(q, k, v) }",
      23);
  EXPECT_EQ(scores.layers[0].reason, "the output of the products of queries and keys is used");
}

TEST(ElementwiseLayers, key_extremes_of_three_operands) {
  EXPECT_EQ(key_of_text("g (float[4] a, float[4] b, float[4] c) => (y) { y = Max(a, b, c) }"),
            "v1:max;in=f32[4],f32[4],f32[4];out=f32[4];acc=f32;math=strict");
  EXPECT_EQ(graph_of_text("g (float[4] a, float[1] b, float[4] c) => (y) { y = Min(a, b, c) }")
                .layers[0]
                .reason,
            "a Min of three or more operands that broadcasts");
}

TEST(ElementwiseLayers, cast_to_8_bit_floats_that_end_at_the_largest) {
  const auto cast = [](const std::string& attributes) {
    return graph_of_text("g (float[5] x) => (y) { y = Cast<" + attributes + ">(x) }", 19)
        .layers.at(0);
  };
  EXPECT_THAT(cast("to=17").key.text, HasSubstr("in=f32[5];out=f8e4m3[5]"));
  EXPECT_THAT(cast("to=19, saturate=1").key.text, HasSubstr("in=f32[5];out=f8e5m2[5]"));
  EXPECT_THAT(cast("to=17, saturate=0").reason, HasSubstr("saturate 0"));
  EXPECT_EQ(cast("to=10, saturate=0").reason, "") << "it means nothing of other types";
}

TEST(ProductLayers, key_integers_with_their_zero_points) {
  EXPECT_EQ(key_of_text("g (uint8[4,8] a) => (y) <int8[8,3] b, uint8 z = {3}> "
                        "{ y = MatMulInteger(a, b, z) }"),
            "v1:matmul_integer;in=u8[4,8],s8[8,3]c,u8[]c;out=s32[4,3];acc=s32;math=strict");
}

TEST(ProductLayers, key_quantised_convolutions) {
  EXPECT_EQ(
      key_of_text("g (uint8[1,2,4,4] x) => (y) <float xs = {0.5}, uint8 xz = {7}, int8[3,2,1,1] w, "
                  "float[3] ws, int8[3] wz = {0, 0, 0}, float ys = {2.0}, uint8 yz = {1}, "
                  "int32[3] b> { y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz, b) }"),
      "v1:conv_integer;in=u8[1,2,4,4],s8[3,2,1,1]c,s32[3]c,u8[]c,-,f32[]c,f32[3]c,f32[]c,u8[]c;"
      "out=u8[1,3,4,4];acc=s32;math=strict;dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]");
}

TEST(ProductLayers, key_quantised_products) {
  EXPECT_EQ(key_of_text("g (uint8[4,8] a) => (y) <float s = {0.5}, uint8 z = {7}, int8[8,3] b, "
                        "int8 bz = {0}> { y = QLinearMatMul(a, s, z, b, s, bz, s, z) }"),
            "v1:matmul_integer;in=u8[4,8],s8[8,3]c,u8[]c,-,f32[]c,f32[]c,f32[]c,u8[]c;out=u8[4,3];"
            "acc=s32;math=strict");
}

TEST(ElementwiseLayers, key_grids_by_what_a_scale_belongs_to) {
  EXPECT_EQ(key_of_text("g (float[2,3] x) => (y) <float s = {0.5}, uint8 z = {0}> "
                        "{ y = QuantizeLinear(x, s, z) }"),
            "v1:quantize;in=f32[2,3],f32[]c;out=u8[2,3];acc=f32;math=strict;axis=0");
  EXPECT_EQ(key_of_text("g (int8[2,3] x) => (y) <float[3] s, int8[3] z> "
                        "{ y = DequantizeLinear<axis = -1>(x, s, z) }"),
            "v1:dequantize;in=s8[2,3],f32[3]c,s8[3]c;out=f32[2,3];acc=s32;math=strict;axis=1");
}

TEST(RecurrentLayers, name_the_outputs_that_are_read) {
  EXPECT_EQ(
      key_of_text("g (float[5,3,6] x) => (y) <float[1,32,6] w, float[1,32,8] r, float[1,64] b>"
                  "{ y, h, c = LSTM<hidden_size=8>(x, w, r, b) }"),
      "v1:lstm;in=f32[5,3,6],f32[1,32,6]c,f32[1,32,8]c,f32[1,64]c;out=f32[5,1,3,8];acc=f32;"
      "math=strict;direction=forward;layout=0;outputs=y");
  EXPECT_THAT(key_of_text("g (float[5,3,6] x) => (c) <float[2,32,6] w, float[2,32,8] r> { , , c = "
                          "LSTM<hidden_size=8, direction=\"bidirectional\">(x, w, r) }"),
              EndsWith("out=f32[2,3,8];acc=f32;math=strict;direction=bidirectional;layout=0;"
                       "outputs=c"));
  EXPECT_THAT(key_of_text("g (float[3,5,6] x, float[3,1,8] s) => (y, h) <float[1,24,6] w, "
                          "float[1,24,8] r> { y, h = GRU<hidden_size=8, layout=1, "
                          "linear_before_reset=1>(x, w, r, , , s) }"),
              EndsWith("f32[1,24,8]c,-,f32[3,1,8];out=f32[3,5,1,8],f32[3,1,8];acc=f32;math=strict;"
                       "direction=forward;layout=1;linear_before_reset=1;outputs=yh"));
}

TEST(RecurrentLayers, refuse_what_the_key_cannot_say) {
  const auto reason = [](const std::string& attributes, const std::string& lengths = "") {
    return graph_of_text(
               "g (float[5,2,6] x) => (y) <float[1,8,6] w, float[1,8,8] r, int32[2] full = "
               "{5,5}, int32[2] short = {5,4}> { y = RNN<hidden_size=8" +
               attributes + ">(x, w, r" + lengths + ") }")
        .layers[0]
        .reason;
  };
  EXPECT_EQ(reason(""), "");
  EXPECT_EQ(reason("", ", , full"), "");
  EXPECT_EQ(reason(", activations=[\"Relu\"]"), "");
  EXPECT_EQ(reason("", ", , short"), "sequence_lens holds 4, not the 5 steps of x");
  EXPECT_EQ(reason(", clip=3.0"), "clip 3");
  EXPECT_THAT(reason(", activations=[\"Elu\"]"),
              HasSubstr("'elu' is not one of tanh|relu|sigmoid"));
  EXPECT_THAT(graph_of_text("g (float[5,2,6] x) => (y) <float[1,24,6] w, float[1,24,8] r> { y = "
                            "GRU<hidden_size=8, activations=[\"Relu\", \"Tanh\"]>(x, w, r) }")
                  .layers[0]
                  .reason,
              HasSubstr("activations other than the default ones"));
}

}  // namespace
}  // namespace plumb::model
