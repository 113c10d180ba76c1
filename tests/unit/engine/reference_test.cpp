// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/reference.hpp"

#include <cmath>

#include "harness/base/error.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "tests/unit/engine/layer_builder.hpp"

namespace plumb::engine {
namespace {

using test_support::layer;
using test_support::operands;
using test_support::outputs;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::Pointwise;

const std::string kPlainConv = "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]";
const std::vector<double> kNine{0, 1, 2, 3, 4, 5, 6, 7, 8};

TEST(Reference, convolves_with_asymmetric_pads_and_bias) {
  // A 3×3 image, a kernel of ones 2×2, one row of padding above only: rows sum pairs.
  const model::LayerSpec spec = layer("conv;in=f32[1,1,3,3],f32[1,1,2,2]c,f32[1]c;out=f32[1,1,3,2]",
                                      "dilations=[1,1];group=1;pads=[1,0,0,0];strides=[1,1]");
  EXPECT_THAT(outputs(spec, {kNine, {1, 1, 1, 1}, {10}}), ElementsAre(11, 13, 18, 22, 30, 34));
}

TEST(Reference, convolves_groups_with_strides_and_dilations) {
  // Two groups of one channel in 1-D; the second kernel doubles. Taps two apart, every third
  // position.
  const model::LayerSpec spec = layer("conv;in=f32[1,2,6],f32[2,1,2]c;out=f32[1,2,2]",
                                      "dilations=[2];group=2;pads=[0,0];strides=[3]");
  EXPECT_THAT(outputs(spec, {{1, 2, 3, 4, 5, 6, 1, 1, 1, 2, 2, 2}, {1, 1, 2, 2}}),
              ElementsAre(1 + 3, 4 + 6, 2 + 2, 4 + 4));
}

TEST(Reference, convolves_in_three_dimensions) {
  const model::LayerSpec spec =
      layer("conv;in=f32[1,1,2,2,2],f32[1,1,2,2,2]c;out=f32[1,1,1,1,1]",
            "dilations=[1,1,1];group=1;pads=[0,0,0,0,0,0];strides=[1,1,1]");
  EXPECT_THAT(outputs(spec, {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 0, 0, 0, 0, 0, 0, 10}}),
              ElementsAre(81));
}

TEST(Reference, computes_int8_convolutions_exactly) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:conv;in=u8[1,1,1,2],s8[1,1,1,2]c;out=s32[1,1,1,1];acc=s32;math=strict;" + kPlainConv});
  EXPECT_THAT(outputs(spec, {{255, 254}, {-128, 127}}), ElementsAre(255 * -128 + 254 * 127));
}

TEST(Reference, transposes_convolutions) {
  // Stride 2: each input spreads over its own pair; output_padding adds a column of bias only.
  const model::LayerSpec spec =
      layer("conv_transpose;in=f32[1,1,2],f32[1,1,2]c,f32[1]c;out=f32[1,1,5]",
            "dilations=[1];group=1;output_padding=[1];pads=[0,0];strides=[2]");
  EXPECT_THAT(outputs(spec, {{3, 4}, {1, 10}, {100}}), ElementsAre(103, 130, 104, 140, 100));
}

TEST(Reference, multiplies_matrices) {
  const model::LayerSpec gemm = layer("gemm;in=f32[3,2],f32[2,3],f32[2];out=f32[2,2]",
                                      "alpha=0.5;beta=2.0;trans_a=1;trans_b=1");
  // a' = [1 3 5; 2 4 6], b' = [1 0; 0 1; 1 1]
  EXPECT_THAT(outputs(gemm, {{1, 2, 3, 4, 5, 6}, {1, 0, 1, 0, 1, 1}, {10, 20}}),
              ElementsAre(23, 44, 24, 45));
  const model::LayerSpec batched = layer("matmul;in=f32[2,1,2],f32[2,1];out=f32[2,1,1]");
  EXPECT_THAT(outputs(batched, {{1, 2, 3, 4}, {10, 1}}), ElementsAre(12, 34));
  const model::LayerSpec vectors = layer("matmul;in=f32[3],f32[3];out=f32[]");
  EXPECT_THAT(outputs(vectors, {{1, 2, 3}, {4, 5, 6}}), ElementsAre(32));
}

TEST(Reference, normalizes) {
  const model::LayerSpec batch =
      layer("batch_norm;in=f32[1,2,2],f32[2]c,f32[2]c,f32[2]c,f32[2]c;out=f32[1,2,2]",
            "epsilon=1.0;mode=spatial");
  EXPECT_THAT(outputs(batch, {{1, 5, 2, 4}, {2, 10}, {1, 0}, {1, 2}, {3, 0}}),
              ElementsAre(1, 5, 0, 20));
  const model::LayerSpec layers =
      layer("layer_norm;in=f32[1,2],f32[2]c,f32[2]c;out=f32[1,2]", "axis=1;epsilon=0.0");
  EXPECT_THAT(outputs(layers, {{1, 3}, {1, 10}, {5, 5}}), ElementsAre(4, 15));
  const model::LayerSpec rms =
      layer("rms_norm;in=f32[1,2],f32[2]c;out=f32[1,2]", "axis=1;epsilon=0.5");
  EXPECT_THAT(outputs(rms, {{3, 4}, {1, 2}}),
              Pointwise(DoubleNear(1e-6), {3 / std::sqrt(13.0), 8 / std::sqrt(13.0)}));
  const model::LayerSpec groups =
      layer("group_norm;in=f32[1,4],f32[4]c,f32[4]c;out=f32[1,4]", "epsilon=0.0;groups=2");
  EXPECT_THAT(outputs(groups, {{1, 3, 10, 30}, {1, 1, 2, 2}, {0, 0, 1, 1}}),
              ElementsAre(-1, 1, -1, 3));
  const model::LayerSpec instance =
      layer("instance_norm;in=f32[1,2,2],f32[2]c,f32[2]c;out=f32[1,2,2]", "epsilon=0.0");
  EXPECT_THAT(outputs(instance, {{1, 3, 10, 30}, {1, 2}, {0, 1}}), ElementsAre(-1, 1, -1, 3));
  const model::LayerSpec lrn =
      layer("lrn;in=f32[1,3,1];out=f32[1,3,1]", "alpha=3.0;beta=1.0;bias=1.0;size=3");
  EXPECT_THAT(outputs(lrn, {{1, 2, 3}}), Pointwise(FloatEq(), {1.0F / 6, 2.0F / 15, 3.0F / 14}));
}

TEST(Reference, pools_with_ceil_mode_and_pads) {
  const std::string shape = ";in=f32[1,1,5];out=f32[1,1,3]";
  const std::string attributes = "dilations=[1];kernel=[2];";
  const std::vector<double> x{1, 5, 2, 4, 3};
  EXPECT_THAT(
      outputs(layer("max_pool" + shape, "ceil_mode=1;" + attributes + "pads=[0,0];strides=[2]"),
              {x}),
      ElementsAre(5, 4, 3));
  EXPECT_THAT(
      outputs(layer("average_pool" + shape,
                    "ceil_mode=0;count_include_pad=1;" + attributes + "pads=[1,0];strides=[2]"),
              {x}),
      ElementsAre(0.5, 3.5, 3.5));
  EXPECT_THAT(
      outputs(layer("average_pool" + shape,
                    "ceil_mode=0;count_include_pad=0;" + attributes + "pads=[1,0];strides=[2]"),
              {x}),
      ElementsAre(1, 3.5, 3.5));
  // The window that hangs over the end counts what lies within the padding only, here one element.
  EXPECT_THAT(
      outputs(layer("average_pool" + shape,
                    "ceil_mode=1;count_include_pad=1;" + attributes + "pads=[0,0];strides=[2]"),
              {x}),
      ElementsAre(3, 3, 3));
  EXPECT_THAT(outputs(layer("lp_pool;in=f32[1,1,2];out=f32[1,1,1]",
                            "ceil_mode=0;dilations=[1];kernel=[2];p=2;pads=[0,0];strides=[1]"),
                      {{3, -4}}),
              ElementsAre(5));
}

TEST(Reference, takes_softmax_over_an_axis_or_all_behind_it) {
  const double e = std::exp(1.0);
  const model::LayerSpec axis = layer("softmax;in=f32[2,2];out=f32[2,2]", "axis=0;coerce=0;log=0");
  EXPECT_THAT(outputs(axis, {{0, 1, 1, 1}}),
              Pointwise(DoubleNear(1e-7), {1 / (1 + e), 0.5, e / (1 + e), 0.5}));
  const model::LayerSpec all = layer("softmax;in=f32[2,2];out=f32[2,2]", "axis=0;coerce=1;log=1");
  EXPECT_THAT(outputs(all, {{7, 7, 7, 7}}),
              Pointwise(DoubleNear(1e-6), std::vector<double>(4, -std::log(4.0))));
}

TEST(Reference, applies_the_epilogue_in_order) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:gemm;in=f32[1,1],f32[1,2],-,f32[1,2];out=f32[1,2];acc=f32;math=strict;alpha=1."
       "0;beta=1.0;"
       "trans_a=0;trans_b=0;epilogue=add@3,relu,clip(0.0,5.0)"});
  EXPECT_THAT(outputs(spec, {{2}, {3, -3}, {}, {10, 1}}), ElementsAre(5, 0));
}

TEST(Reference, refuses_what_it_cannot_compute) {
  model::LayerSpec spec = layer("conv;in=f32[1,1,3,3],f32[1,1,2,2]c;out=f32[1,1,2,2]", kPlainConv);
  EXPECT_TRUE(reference_support(spec).ok());
  const std::vector<model::Tensor> tensors = operands(spec, {kNine, {1, 1, 1, 1}});
  spec.outputs[0].dims = {1, 1, 3, 3};
  EXPECT_THROW((void)reference_outputs(spec, tensors), Error);
  spec.outputs[0].dims = {1, 1, 2, 2};
  EXPECT_THROW((void)reference_outputs(spec, std::span(tensors).first(1)), Error);
  spec.op = "einsum";
  EXPECT_EQ(reference_support(spec).kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THROW((void)reference_outputs(spec, tensors), Error);
}

// Keys from outside are checked when they are parsed; specs made otherwise must not do harm either.
TEST(Reference, survives_hostile_attributes) {
  using Integers = std::vector<std::int64_t>;
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  model::LayerSpec spec = layer("conv;in=f32[1,1,3,3],f32[1,1,2,2]c;out=f32[1,1,2,2]", kPlainConv);
  spec.attributes["dilations"] = Integers{kMost, 1};
  EXPECT_THROW((void)outputs(spec, {kNine, {1, 1, 1, 1}}), Error);
  spec.attributes["dilations"] = Integers{1};
  EXPECT_THROW((void)outputs(spec, {kNine, {1, 1, 1, 1}}), Error);
  spec = layer("slice;in=f32[9];out=f32[3]", "axes=[0];starts=[8];steps=[-2]");
  spec.attributes["steps"] = Integers{-kMost};
  EXPECT_THROW((void)outputs(spec, {kNine}), Error);
  spec.attributes["steps"] = Integers{-2};
  spec.attributes["starts"] = Integers{3};
  EXPECT_THROW((void)outputs(spec, {kNine}), Error);
  spec = layer("gather;in=f32[9],s64[1];out=f32[1]", "axis=0;distribution=uniform");
  EXPECT_THROW((void)outputs(spec, {kNine, {9}}), Error);
  EXPECT_THROW((void)outputs(spec, {kNine, {-10}}), Error);
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

// One number of input and state, so that the equations of the ONNX specification stay readable.
TEST(Reference, recurrent_layers_follow_the_equations) {
  const model::LayerSpec rnn =
      layer("rnn;in=f32[2,1,1],f32[1,1,1]c,f32[1,1,1]c,f32[1,2]c;out=f32[1,1,1]",
            "direction=reverse;fn=relu;layout=0;outputs=h");
  // Backwards over 5, -1: 2·(-1)+0.5+0.25 < 0, so 0; then 2·5+0.5+0.25.
  EXPECT_THAT(outputs(rnn, {{5, -1}, {2}, {3}, {0.5, 0.25}}), ElementsAre(10.75));

  const std::vector<std::vector<double>> gru{
      {0.5}, {0.5, -1, 2}, {1, 0.25, -0.5}, {0.125, 0.25, 0.5, 1, -0.25, 2}, {0.75}};
  const double z = sigmoid(0.5 * 0.5 + 0.125 + 1 * 0.75 + 1);
  const double r = sigmoid(-1 * 0.5 + 0.25 + 0.25 * 0.75 - 0.25);
  for (const bool linear_before_reset : {false, true}) {
    const double candidate = linear_before_reset ? std::tanh(2 * 0.5 + 0.5 + r * (-0.5 * 0.75 + 2))
                                                 : std::tanh(2 * 0.5 + 0.5 - 0.5 * (r * 0.75) + 2);
    const model::LayerSpec spec =
        layer("gru;in=f32[1,1,1],f32[1,3,1]c,f32[1,3,1]c,f32[1,6]c,f32[1,1,1];out=f32[1,1,1]",
              std::string("direction=forward;layout=0;linear_before_reset=") +
                  (linear_before_reset ? "1" : "0") + ";outputs=h");
    EXPECT_NEAR(outputs(spec, gru)[0], (1 - z) * candidate + z * 0.75, 1e-7);
  }

  const model::LayerSpec lstm = layer(
      "lstm;in=f32[1,1,1],f32[1,4,1]c,f32[1,4,1]c,-,f32[1,1,1],f32[1,1,1],f32[1,3]c;out=f32[1,1,1]",
      "direction=forward;layout=0;outputs=h");
  const double i = sigmoid(1 * 0.5 + 0.5 * 2 + 0.25 * 3);
  const double f = sigmoid(-1 * 0.5 + 0.75 * 2 - 0.5 * 3);
  const double c = f * 3 + i * std::tanh(0.25 * 0.5 + 1 * 2);
  const double o = sigmoid(2 * 0.5 - 0.5 * 2 + 0.125 * c);
  EXPECT_NEAR(outputs(lstm,
                      {{0.5},
                       {1, 2, -1, 0.25},  // i, o, f, c
                       {0.5, -0.5, 0.75, 1},
                       {},
                       {2},
                       {3},
                       {0.25, 0.125, -0.5}})[0],  // i, o, f
              o * std::tanh(c),
              1e-7);
}

// One query of 2, keys 1, 3 and 5, values 10, 20, 40, scale ½: scores 1, 3, 5.
TEST(Reference, attention_weighs_values_by_scores) {
  const auto result = [](const std::string& mask, const std::string& causal, auto... given) {
    const model::LayerSpec spec =
        layer("attention;in=f32[1,1,1,1],f32[1,1,3,1],f32[1,1,3,1]" + mask + ";out=f32[1,1,1,1]",
              causal + ";kv_heads=1;outputs=y;q_heads=1;scale=0.5;softcap=0.0");
    return outputs(spec, {{2}, {1, 3, 5}, {10, 20, 40}, given...})[0];
  };
  const auto mean = [](double a, double b, double c) {
    const double total = std::exp(a) + std::exp(b) + std::exp(c);
    return (10 * std::exp(a) + 20 * std::exp(b) + 40 * std::exp(c)) / total;
  };
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  EXPECT_NEAR(result("", "causal=0"), mean(1, 3, 5), 1e-5);
  EXPECT_NEAR(result("", "causal=1"), 10, 1e-5) << "the first query sees the first key";
  EXPECT_NEAR(
      result(",bool[1,3]", "causal=0", std::vector<double>{1, 1, 0}), mean(1, 3, kNever), 1e-5);
  EXPECT_EQ(result(",bool[1,3]", "causal=0", std::vector<double>{0, 0, 0}), 0.0);
  EXPECT_NEAR(
      result(",f32[1,3]", "causal=0", std::vector<double>{0.5, 0, -1}), mean(1.5, 3, 4), 1e-5);
}

TEST(Reference, attention_shares_keys_between_heads_and_goes_on_from_the_past) {
  // Heads 0, 1 read key head 0; heads 2, 3 key head 1. One earlier key of score 0 each.
  const model::LayerSpec spec = layer(
      "attention;in=f32[1,4,1,1],f32[1,2,1,1],f32[1,2,1,1],-,f32[1,2,1,1],f32[1,2,1,1];"
      "out=f32[1,4,1,1],f32[1,2,2,1],f32[1,2,2,1]",
      "causal=1;kv_heads=2;outputs=ykv;q_heads=4;scale=1.0;softcap=0.0");
  const std::vector<model::Tensor> results =
      reference_outputs(spec, operands(spec, {{0, 0, 0, 0}, {7, 8}, {2, 4}, {}, {5, 6}, {10, 20}}));
  EXPECT_THAT(read_numbers(results[0]), ElementsAre(6, 6, 12, 12));
  EXPECT_THAT(read_numbers(results[1]), ElementsAre(5, 7, 6, 8));
  EXPECT_THAT(read_numbers(results[2]), ElementsAre(10, 2, 20, 4));
}

TEST(Reference, samples_whole_rows_of_attention) {
  const model::LayerSpec spec = layer(
      "attention;in=f32[2,5,32],f32[2,6,8],f32[2,6,12],f32[8,5,9],f32[2,2,3,4],f32[2,2,3,6];"
      "out=f32[2,5,48],f32[2,2,9,4]",
      "causal=1;kv_heads=2;outputs=yk;q_heads=8;scale=0.5;softcap=3.0");
  const std::vector<model::Tensor> tensors = random_operands(spec, 3);
  const std::vector<model::Tensor> full = reference_outputs(spec, tensors);
  const std::vector<SampledElement> all = sampled_reference(spec, tensors, 4096, 1);
  EXPECT_EQ(all.size(), 2U * 8 * 5 * 6 + 2 * 2 * 9 * 4);
  for (const SampledElement& sample : all) {
    ASSERT_EQ(static_cast<float>(sample.value), number_at(full[sample.output], sample.element))
        << sample.output << " " << sample.element;
  }
  EXPECT_EQ(sampled_reference(spec, tensors, 48, 1).size(), 48U + 48);
}

TEST(Reference, multiplies_integers_less_their_zero_points) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:matmul_integer;in=u8[1,2],s8[2,1]c,u8[]c,s8[]c;out=s32[1,1];acc=s32;math=strict"});
  EXPECT_THAT(outputs(spec, {{200, 3}, {-100, 5}, {128}, {-1}}),
              ElementsAre((200 - 128) * (-100 + 1) + (3 - 128) * (5 + 1)));
}

TEST(Reference, brings_sums_of_integers_onto_the_grid_of_the_result) {
  // QLinearMatMul of ONNX: (200 − 113)·12 + (3 − 113)·(−5) = 1,594, times 0.5·0.25 ÷ 2, plus 100.
  const model::LayerSpec spec = model::parse_key(
      {"v1:matmul_integer;in=u8[1,2],s8[2,1]c,u8[]c,-,f32[]c,f32[]c,f32[]c,u8[]c;out=u8[1,1];"
       "acc=s32;math=strict"});
  EXPECT_THAT(outputs(spec, {{200, 3}, {12, -5}, {113}, {}, {0.5}, {0.25}, {2}, {100}}),
              ElementsAre(200));
  EXPECT_THAT(outputs(spec, {{255, 0}, {127, -127}, {113}, {}, {0.5}, {0.25}, {2}, {100}}),
              ElementsAre(255));
}

TEST(Reference, adds_what_is_fused_before_it_rounds) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:conv_integer;in=s8[1,1,1,2],s8[1,1,1,1]c,f32[1]c,-,-,f32[]c,f32[1]c,f32[]c,-,"
       "f32[1,1,1,2];out=u8[1,1,1,2];acc=s32;math=strict;dilations=[1,1];group=1;pads=[0,0,0,0];"
       "strides=[1,1];epilogue=add@9,relu"});
  // 10·2·0.5·0.5 + 1.2 + 0.5 = 6.7; −10·2·0.5·0.5 + 1.2 − 3 = −6.8
  EXPECT_THAT(outputs(spec, {{10, -10}, {2}, {1.2}, {}, {}, {0.5}, {0.5}, {0.5}, {}, {0.5, -3}}),
              ElementsAre(13, 0));
}

TEST(Reference, samples_products_of_integers_as_it_computes_them_whole) {
  for (const char* const key :
       {"v1:conv_integer;in=u8[2,6,7,5],s8[8,3,3,2]c,s32[8]c,u8[]c,s8[8]c,f32[]c,f32[8]c,f32[]c;"
        "out=s8[2,8,4,4];acc=s32;math=strict;dilations=[1,1];group=2;pads=[1,0,1,0];strides=[2,1]",
        "v1:conv_integer;in=s8[1,4,6,6],s8[8,4,3,3]c,f32[8]c,-,-,f32[]c,f32[]c;out=f32[1,8,6,6];"
        "acc=s32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=relu",
        "v1:matmul_integer;in=u8[3,5,8],s8[8,4]c,u8[]c,s8[]c,f32[]c,f32[4]c,f32[]c,u8[]c;"
        "out=u8[3,5,4];acc=s32;math=strict"}) {
    const model::LayerSpec spec = model::parse_key({key});
    const std::vector<model::Tensor> tensors = random_operands(spec, 3);
    const std::vector<model::Tensor> full = reference_outputs(spec, tensors);
    const std::vector<SampledElement> samples = sampled_reference(spec, tensors, 4096, 1);
    EXPECT_EQ(samples.size(), static_cast<std::size_t>(element_count(spec.outputs[0]))) << key;
    for (const SampledElement& sample : samples) {
      ASSERT_EQ(static_cast<float>(sample.value), number_at(full[0], sample.element))
          << key << " " << sample.element;
    }
  }
}

TEST(Reference, pads_integers_with_their_zero_point) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:conv_integer;in=u8[1,1,1,2],s8[1,1,1,3]c,-,u8[]c;out=s32[1,1,1,2];acc=s32;math=strict;"
       "dilations=[1,1];group=1;pads=[0,1,0,1];strides=[1,1]"});
  EXPECT_THAT(outputs(spec, {{5, 9}, {1, 10, 100}, {}, {4}}), ElementsAre(510, 51));
}

TEST(Reference, rounds_to_even_and_saturates) {
  const model::LayerSpec spec =
      model::parse_key({"v1:quantize;in=f32[6],f32[]c,u8[]c;out=u8[6];acc=f32;math=strict;axis=0"});
  EXPECT_THAT(outputs(spec, {{0, 1, 3, 5, 1000, -300}, {2}, {128}}),
              ElementsAre(128, 128, 130, 130, 255, 0));
  const model::LayerSpec back = model::parse_key(
      {"v1:dequantize;in=s8[2,2],f32[2]c,s8[2]c;out=f32[2,2];acc=s32;math=strict;axis=0"});
  EXPECT_THAT(outputs(back, {{-128, 127, 3, 4}, {2, 0.5}, {0, 4}}),
              ElementsAre(-256, 254, -0.5, 0));
}

TEST(Reference, samples_recurrent_layers_in_all_outputs) {
  const model::LayerSpec spec = layer(
      "lstm;in=f32[4,3,5],f32[2,40,5]c,f32[2,40,10]c,f32[2,80]c;"
      "out=f32[4,2,3,10],f32[2,3,10],f32[2,3,10]",
      "direction=bidirectional;layout=0;outputs=yhc");
  const std::vector<model::Tensor> tensors = random_operands(spec, 3);
  const std::vector<model::Tensor> full = reference_outputs(spec, tensors);
  const std::vector<SampledElement> samples = sampled_reference(spec, tensors, 4096, 1);
  EXPECT_EQ(samples.size(), 4U * 2 * 3 * 10 + 2 * (2 * 3 * 10));
  for (const SampledElement& sample : samples) {
    ASSERT_EQ(static_cast<float>(sample.value), number_at(full[sample.output], sample.element))
        << sample.output << " " << sample.element;
  }
}

TEST(Reference, samples_the_begin_of_long_recurrences) {
  const model::LayerSpec spec =
      layer("rnn;in=f32[20000,2,64],f32[1,64,64]c,f32[1,64,64]c;out=f32[20000,1,2,64],f32[1,2,64]",
            "direction=reverse;fn=tanh;layout=0;outputs=yh");
  const std::vector<SampledElement> samples =
      sampled_reference(spec, random_operands(spec, 3), 64, 1);
  std::size_t first_position = 20000;
  for (const SampledElement& sample : samples) {
    EXPECT_EQ(sample.output, 0U);  // the last state is not reached
    first_position = std::min(first_position, sample.element / 128);
  }
  EXPECT_EQ(first_position, 20000U - 7812);  // from the end on: 64 million by 2·64² a step
  EXPECT_EQ(samples.size(), 7812U * 16);
}

TEST(Reference, samples_what_it_computes_in_full) {
  const std::vector<model::LayerSpec> specs{
      layer("conv;in=f32[2,4,9,7],f32[6,2,3,2]c,f32[6]c;out=f32[2,6,5,7]",
            "dilations=[1,2];group=2;pads=[1,0,1,2];strides=[2,1]"),
      layer("conv_transpose;in=f32[1,4,5,3],f32[4,3,3,3]c;out=f32[1,6,9,6]",
            "dilations=[1,1];group=2;output_padding=[0,1];pads=[1,1,1,1];strides=[2,2]"),
      layer("gemm;in=f32[13,20],f32[33,13],f32[33];out=f32[20,33]",
            "alpha=1.5;beta=0.5;trans_a=1;trans_b=1"),
      layer("matmul;in=f32[3,1,4,5],f32[2,5,17];out=f32[3,2,4,17]"),
  };
  for (const model::LayerSpec& spec : specs) {
    std::vector<std::vector<double>> numbers;
    for (const std::optional<model::TensorType>& input : spec.inputs) {
      std::vector<double>& list = numbers.emplace_back();
      for (std::int64_t i = 0; i < element_count(*input); ++i) {
        list.push_back(static_cast<double>((i * 37 + 11) % 19 - 9));
      }
    }
    const std::vector<double> full = outputs(spec, numbers);
    const std::vector<SampledElement> sampled =
        sampled_reference(spec, operands(spec, numbers), 4096, 1);
    ASSERT_EQ(sampled.size(), full.size());
    for (const SampledElement& sample : sampled) {
      ASSERT_EQ(sample.value, full[sample.element]) << spec.op << " element " << sample.element;
    }
    const std::vector<SampledElement> few = sampled_reference(spec, operands(spec, numbers), 50, 1);
    ASSERT_EQ(few.size(), 50U);
    EXPECT_EQ(few.front().element, 0U);  // both outermost corners
    EXPECT_EQ(few.back().element, full.size() - 1);
  }
}

}  // namespace
}  // namespace plumb::engine
