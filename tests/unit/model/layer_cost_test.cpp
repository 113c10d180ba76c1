// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/layer_cost.hpp"

#include <gtest/gtest.h>

#include "harness/base/error.hpp"

namespace plumb::model {
namespace {

LayerCost cost(const char* key) {
  return compute_cost(parse_key({key}));
}

TEST(LayerCost, counts_a_convolution_by_hand) {
  const LayerCost found = cost(
      "v1:conv;in=f32[1,64,56,56],f32[64,64,3,3]c,f32[64]c;out=f32[1,64,56,56];acc=f32;math=strict;"
      "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]");
  EXPECT_EQ(found.macs, 115605504);  // 56·56·64·64·9, as in ResNet-50's published layer tables
  EXPECT_DOUBLE_EQ(found.flops.value,
                   2.0 * 115605504 + 200704);  // and one addition of the bias an output
  EXPECT_DOUBLE_EQ(found.minimum_flops.value, 2.0 * 115605504 / 4 + 200704);
  EXPECT_EQ(found.input_bytes.value, 802816);
  EXPECT_EQ(found.weight_bytes.value, 64 * 64 * 9 * 4 + 256);
  EXPECT_EQ(found.output_bytes.value, 802816);
}

TEST(LayerCost, divides_by_the_groups_and_keeps_strided_layers_whole) {
  const LayerCost found = cost(
      "v1:conv;in=f32[1,32,112,112],f32[32,1,3,3]c;out=f32[1,32,112,112];acc=f32;math=strict;"
      "dilations=[1,1];group=32;pads=[1,1,1,1];strides=[1,1]");
  EXPECT_EQ(found.macs, 3612672);  // 112·112·32·9
  EXPECT_EQ(found.minimum_flops, found.flops);
  const LayerCost strided = cost(
      "v1:conv;in=f32[1,3,224,224],f32[64,3,7,7]c;out=f32[1,64,112,112];acc=f32;math=strict;"
      "dilations=[1,1];group=1;pads=[3,3,3,3];strides=[2,2]");
  EXPECT_EQ(strided.macs, 118013952);  // 112·112·64·147
  EXPECT_EQ(strided.minimum_flops, strided.flops);
}

TEST(LayerCost, counts_a_transposed_convolution_from_its_input) {
  const LayerCost found = cost(
      "v1:conv_transpose;in=f32[1,8,4,4],f32[8,6,2,2]c;out=f32[1,6,8,8];acc=f32;math=strict;"
      "dilations=[1,1];group=1;output_padding=[0,0];pads=[0,0,0,0];strides=[2,2]");
  EXPECT_EQ(found.macs, 1 * 8 * 4 * 4 * 6 * 2 * 2);
}

TEST(LayerCost, counts_gemm_and_batched_matmul) {
  EXPECT_EQ(cost("v1:gemm;in=f32[1,2048],f32[1000,2048]c,f32[1000]c;out=f32[1,1000];acc=f32;"
                 "math=strict;alpha=1.0;beta=1.0;trans_a=0;trans_b=1")
                .macs,
            2048000);
  EXPECT_EQ(
      cost("v1:gemm;in=f32[5,7],f32[5,3]c;out=f32[7,3];acc=f32;math=strict;alpha=1.0;beta=1.0;"
           "trans_a=1;trans_b=0")
          .macs,
      5 * 7 * 3);
  EXPECT_EQ(cost("v1:matmul;in=f32[1,12,128,64],f32[1,12,64,128];out=f32[1,12,128,128];acc=f32;"
                 "math=strict")
                .macs,
            std::int64_t{12} * 128 * 128 * 64);
}

TEST(LayerCost, counts_the_pairs_that_attention_lets_meet) {
  const auto attention = [](const char* causal, const char* past) {
    return cost((std::string("v1:attention;in=f32[2,8,4,16],f32[2,2,4,16],f32[2,2,4,12]") + past +
                 ";out=f32[2,8,4,12];acc=f32;math=strict;causal=" + causal +
                 ";kv_heads=2;outputs=y;q_heads=8;scale=0.25;softcap=0.0")
                    .c_str())
        .macs;
  };
  EXPECT_EQ(attention("0", ""), 2 * 8 * (4 * 4) * (16 + 12));
  EXPECT_EQ(attention("1", ""), 2 * 8 * (1 + 2 + 3 + 4) * (16 + 12));
  EXPECT_EQ(attention("1", ",-,f32[2,2,3,16],f32[2,2,3,12]"), 2 * 8 * (4 + 5 + 6 + 7) * (16 + 12));
  EXPECT_EQ(attention("0", ",-,f32[2,2,3,16],f32[2,2,3,12]"), 2 * 8 * (4 * 7) * (16 + 12));
}

TEST(LayerCost, of_an_attention_gradient_counts_the_scores_again_and_four_products) {
  EXPECT_EQ(cost("v1:attention_backward;in=f32[2,8,4,12],f32[2,8,4,16],f32[2,2,4,16],"
                 "f32[2,2,4,12],f32[2,8,4,12],f32[2,8,4,1];out=f32[2,8,4,16],f32[2,2,4,16],"
                 "f32[2,2,4,12];acc=f32;math=strict;causal=1;kv_heads=2;q_heads=8;scale=0.25")
                .macs,
            2 * 8 * (1 + 2 + 3 + 4) * (3 * 16 + 2 * 12));
}

TEST(LayerCost, counts_a_recurrent_layer_by_steps) {
  const LayerCost lstm = cost(
      "v1:lstm;in=f32[25,16,512],f32[1,2048,512]c,f32[1,2048,512]c,f32[1,4096]c;"
      "out=f32[25,1,16,512];acc=f32;math=strict;direction=forward;layout=0;outputs=y");
  EXPECT_EQ(lstm.macs, std::int64_t{25} * 16 * 4 * 512 * (512 + 512));
  // four gates of two additions and an activation; the cell in three operations, its tanh, a
  // product
  EXPECT_DOUBLE_EQ(lstm.flops.value, 2.0 * static_cast<double>(lstm.macs) + 25.0 * 16 * 512 * 17);
  EXPECT_EQ(lstm.weight_bytes.value, 4 * (2 * 2048 * 512 + 4096));
  EXPECT_EQ(cost("v1:gru;in=f32[2,7,5],f32[2,9,5]c,f32[2,9,3]c;out=f32[2,2,3];acc=f32;math=strict;"
                 "direction=bidirectional;layout=1;linear_before_reset=0;outputs=h")
                .macs,
            7 * 2 * 2 * 3 * 3 * (5 + 3));
}

TEST(LayerCost, counts_gradients_of_a_convolution_as_the_convolution) {
  const std::string rest =
      ";acc=f32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";
  const std::string biased =
      ";acc=f32;math=strict;dilations=[1,1];group=1;outputs=wb;pads=[1,1,1,1];strides=[1,1]";
  const LayerCost data =
      cost(("v1:conv_backward_data;in=f32[8,64,56,56],f32[64,64,3,3];out=f32[8,64,56,56]" + rest)
               .c_str());
  EXPECT_EQ(data.macs, std::int64_t{8} * 115605504);
  EXPECT_DOUBLE_EQ(data.flops.value, 2.0 * 8 * 115605504);
  EXPECT_DOUBLE_EQ(data.minimum_flops.value, data.flops.value / 4);
  EXPECT_EQ(data.input_bytes.value, 4 * (8 * 64 * 56 * 56 + 64 * 64 * 9));
  EXPECT_EQ(data.output_bytes.value, 4 * 8 * 64 * 56 * 56);
  const LayerCost weights = cost(("v1:conv_backward_weights;in=f32[8,64,56,56],f32[8,64,56,56];"
                                  "out=f32[64,64,3,3],f32[64]" +
                                  biased)
                                     .c_str());
  EXPECT_EQ(weights.macs, data.macs);
  EXPECT_DOUBLE_EQ(weights.flops.value, data.flops.value + 8 * 64 * 56 * 56);  // the bias' sums
  EXPECT_EQ(weights.output_bytes.value, 4 * (64 * 64 * 9 + 64));
}

TEST(LayerCost, counts_a_bias_gradient_beside_the_product) {
  const LayerCost found = cost(
      "v1:gemm_bias_gradient;in=f32[128,768],f32[128,3072];out=f32[768,3072],f32[768];acc=f32;"
      "math=strict;alpha=1.0;of=a;trans_a=1;trans_b=0");
  EXPECT_EQ(found.macs, std::int64_t{768} * 3072 * 128);
  EXPECT_DOUBLE_EQ(found.flops.value, 2.0 * 768 * 3072 * 128 + 128 * 768);
}

TEST(LayerCost, charges_views_nothing_and_a_gather_what_it_reads) {
  const LayerCost view = cost("v1:view;in=f32[1,512,7,7];out=f32[1,25088];acc=f32;math=strict");
  EXPECT_EQ(view.flops.value, 0.0);
  EXPECT_EQ(view.input_bytes.value + view.output_bytes.value, 0);
  const LayerCost gather = cost(
      "v1:gather;in=f32[30522,768]c,s64[1,128];out=f32[1,128,768];acc=f32;math=strict;axis=0;"
      "distribution=uniform");
  EXPECT_EQ(gather.weight_bytes.value, 128 * 768 * 4);
  EXPECT_EQ(gather.input_bytes.value, 128 * 8);
  EXPECT_EQ(gather.macs, 0);
}

TEST(LayerCost, counts_work_per_element_elsewhere) {
  EXPECT_EQ(cost("v1:eltwise;in=f32[2,3];out=f32[2,3];acc=f32;math=strict;fn=relu;parameters=[]")
                .flops.value,
            6.0);
  EXPECT_EQ(cost("v1:max_pool;in=f32[1,1,4,4];out=f32[1,1,2,2];acc=f32;math=strict;ceil_mode=0;"
                 "dilations=[1,1];kernel=[2,2];pads=[0,0,0,0];strides=[2,2]")
                .flops.value,
            16.0);
  EXPECT_EQ(cost("v1:sum;in=f32[4],f32[4],f32[4];out=f32[4];acc=f32;math=strict").flops.value, 8.0);
}

TEST(LayerCost, refuses_products_beyond_63_bits) {
  LayerSpec spec = parse_key({"v1:matmul;in=f32[2,2],f32[2,2];out=f32[2,2];acc=f32;math=strict"});
  spec.inputs[0]->dims = {1, std::int64_t{1} << 39};
  spec.outputs[0].dims = {1 << 20, 1 << 20};
  EXPECT_THROW(static_cast<void>(compute_cost(spec)), Error);
}

}  // namespace
}  // namespace plumb::model
