// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "harness/base/error.hpp"
#include "runners/engine/reference/reference.hpp"
#include "tests/unit/engine/layer_builder.hpp"

namespace plumb::engine {
namespace {

using test_support::layer;
using test_support::operands;
using test_support::outputs;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

const std::vector<double> kSix{1, 2, 3, 4, 5, 6};

TEST(ReferenceMovement, concatenates_and_splits) {
  const model::LayerSpec together = layer("concat;in=bf16[2,1],bf16[2,2];out=bf16[2,3]", "axis=1");
  EXPECT_THAT(outputs(together, {{1, 2}, {3, 4, 5, 6}}), ElementsAre(1, 3, 4, 2, 5, 6));
  const model::LayerSpec apart = layer("split;in=f32[2,3];out=f32[2,1],f32[2,2]", "axis=1");
  const std::vector<model::Tensor> parts = reference_outputs(apart, operands(apart, {kSix}));
  EXPECT_THAT(read_numbers(parts.at(0)), ElementsAre(1, 4));
  EXPECT_THAT(read_numbers(parts.at(1)), ElementsAre(2, 3, 5, 6));
}

TEST(ReferenceMovement, slices_backwards_and_transposes) {
  EXPECT_THAT(
      outputs(layer("slice;in=f32[6];out=f32[3]", "axes=[0];starts=[5];steps=[-2]"), {kSix}),
      ElementsAre(6, 4, 2));
  EXPECT_THAT(outputs(layer("transpose;in=f32[2,3];out=f32[3,2]", "perm=[1,0]"), {kSix}),
              ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(ReferenceMovement, pads_in_every_mode) {
  const std::string shape = "pad;in=f32[3];out=f32[7]";
  const std::string pads = ";pads=[2,2];value=9.0";
  const std::vector<double> x{1, 2, 3};
  EXPECT_THAT(outputs(layer(shape, "mode=constant" + pads), {x}), ElementsAre(9, 9, 1, 2, 3, 9, 9));
  EXPECT_THAT(outputs(layer(shape, "mode=edge" + pads), {x}), ElementsAre(1, 1, 1, 2, 3, 3, 3));
  EXPECT_THAT(outputs(layer(shape, "mode=reflect" + pads), {x}), ElementsAre(3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(outputs(layer(shape, "mode=wrap" + pads), {x}), ElementsAre(2, 3, 1, 2, 3, 1, 2));
  EXPECT_THAT(
      outputs(layer("pad;in=f32[3];out=f32[2]", "mode=constant;pads=[-1,0];value=0.0"), {x}),
      ElementsAre(2, 3));
}

TEST(ReferenceMovement, repeats_and_selects) {
  EXPECT_THAT(outputs(layer("tile;in=f32[1,2];out=f32[2,4]", "repeats=[2,2]"), {{1, 2}}),
              ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
  EXPECT_THAT(outputs(layer("expand;in=f32[2,1];out=f32[2,2]"), {{1, 2}}), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(
      outputs(layer("gather;in=f32[2,3],s64[2];out=f32[2,2]", "axis=1;distribution=uniform"),
              {kSix, {2, -3}}),
      ElementsAre(3, 1, 6, 4));
  EXPECT_THAT(outputs(layer("where;in=bool[2],s64[1],s64[2];out=s64[2]"), {{1, 0}, {7}, {8, 9}}),
              ElementsAre(7, 9));
}

TEST(ReferenceMovement, keeps_every_bit_of_large_integers) {
  const model::LayerSpec spec = layer("view;in=s64[1,1];out=s64[1]");
  std::vector<model::Tensor> tensors = operands(spec, {{0}});
  tensors[0].as<std::int64_t>()[0] = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(reference_outputs(spec, tensors)[0].as<std::int64_t>()[0], (std::int64_t{1} << 53) + 1);
}

TEST(ReferenceMovement, exchanges_depth_and_space) {
  const std::vector<double> x{1, 2, 3, 4};
  EXPECT_THAT(
      outputs(layer("depth_to_space;in=f32[1,4,1,1];out=f32[1,1,2,2]", "block=2;mode=dcr"), {x}),
      ElementsAre(1, 2, 3, 4));
  // Eight channels make two: dcr takes every other one, crd the first four.
  const std::vector<double> wide{0, 1, 2, 3, 4, 5, 6, 7};
  const std::string shape = "depth_to_space;in=f32[1,8,1,1];out=f32[1,2,2,2]";
  EXPECT_THAT(outputs(layer(shape, "block=2;mode=dcr"), {wide}),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(outputs(layer(shape, "block=2;mode=crd"), {wide}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(outputs(layer("space_to_depth;in=f32[1,1,2,2];out=f32[1,4,1,1]", "block=2"), {x}),
              ElementsAre(1, 2, 3, 4));
}

TEST(ReferenceMovement, reduces) {
  const auto reduced = [](const std::string& fn) {
    return outputs(layer("reduce;in=f32[2,3];out=f32[2]", "axes=[1];fn=" + fn + ";keepdims=0"),
                   {kSix});
  };
  EXPECT_THAT(reduced("mean"), ElementsAre(2, 5));
  EXPECT_THAT(reduced("sum"), ElementsAre(6, 15));
  EXPECT_THAT(reduced("max"), ElementsAre(3, 6));
  EXPECT_THAT(reduced("min"), ElementsAre(1, 4));
  EXPECT_THAT(reduced("prod"), ElementsAre(6, 120));
  EXPECT_THAT(reduced("l1"), ElementsAre(6, 15));
  EXPECT_THAT(reduced("sum_square"), ElementsAre(14, 77));
  EXPECT_THAT(reduced("l2"), Pointwise(DoubleNear(1e-6), {std::sqrt(14.0), std::sqrt(77.0)}));
  EXPECT_THAT(reduced("log_sum"), Pointwise(DoubleNear(1e-6), {std::log(6.0), std::log(15.0)}));
  EXPECT_THAT(reduced("log_sum_exp"),
              Pointwise(DoubleNear(1e-6), {3.4076059644443806, 6.4076059644443806}));
  const model::LayerSpec nothing =
      layer("reduce;in=bool[1,0];out=bool[1]", "axes=[1];fn=max;keepdims=0");
  EXPECT_THAT(outputs(nothing, {{}}), ElementsAre(0));
  const std::string arg = "arg_reduce;in=f32[1,3];out=s64[1,1]";
  EXPECT_THAT(outputs(layer(arg, "axis=1;fn=argmax;keepdims=1;select_last=0"), {{2, 5, 5}}),
              ElementsAre(1));
  EXPECT_THAT(outputs(layer(arg, "axis=1;fn=argmax;keepdims=1;select_last=1"), {{2, 5, 5}}),
              ElementsAre(2));
  EXPECT_THAT(outputs(layer(arg, "axis=1;fn=argmin;keepdims=1;select_last=0"), {{2, 5, 5}}),
              ElementsAre(0));
}

TEST(ReferenceMovement, resizes) {
  const auto resized = [](const std::string& mode, const std::string& coordinates) {
    return outputs(layer("resize;in=f32[2];out=f32[4]",
                         "antialias=0;coordinates=" + coordinates +
                             ";cubic_a=-0.75;exclude_outside=0;mode=" + mode +
                             ";nearest_mode=round_prefer_floor;scales=[2.0]"),
                   {{1, 5}});
  };
  EXPECT_THAT(resized("nearest", "half_pixel"), ElementsAre(1, 1, 5, 5));
  EXPECT_THAT(resized("nearest", "asymmetric"), ElementsAre(1, 1, 5, 5));
  EXPECT_THAT(resized("linear", "half_pixel"), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(resized("linear", "asymmetric"), ElementsAre(1, 3, 5, 5));
  EXPECT_THAT(resized("linear", "align_corners"),
              Pointwise(DoubleNear(1e-6), {1.0, 7.0 / 3.0, 11.0 / 3.0, 5.0}));
}

TEST(ReferenceMovement, computes_element_by_element) {
  const auto mapped = [](const std::string& fn, const std::string& parameters) {
    return outputs(
        layer("eltwise;in=f32[3];out=f32[3]", "fn=" + fn + ";parameters=[" + parameters + "]"),
        {{-2, 0.5, 4}});
  };
  EXPECT_THAT(mapped("relu", ""), ElementsAre(0, 0.5, 4));
  EXPECT_THAT(mapped("clip", "0.0,1.0"), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(mapped("leaky_relu", "0.5"), ElementsAre(-1, 0.5, 4));
  EXPECT_THAT(mapped("linear", "2.0,-1.0"), ElementsAre(-5, 0, 7));
  EXPECT_THAT(mapped("hard_sigmoid", "0.25,0.5"), ElementsAre(0, 0.625, 1));
  EXPECT_THAT(mapped("hard_swish", ""),
              Pointwise(DoubleNear(1e-6), {-1.0 / 3, 0.5 * 3.5 / 6, 4.0}));
  EXPECT_THAT(mapped("round", ""), ElementsAre(-2, 0, 4));
  EXPECT_THAT(mapped("sign", ""), ElementsAre(-1, 1, 1));
  EXPECT_THAT(mapped("gelu_erf", ""),
              Pointwise(DoubleNear(1e-6), {-0.04550026, 0.34573123, 3.99987331}));
  EXPECT_THAT(mapped("softsign", ""), Pointwise(DoubleNear(1e-7), {-2.0 / 3, 1.0 / 3, 0.8}));
  const model::LayerSpec prelu = layer("prelu;in=f32[1,2,1],f32[2,1]c;out=f32[1,2,1]");
  EXPECT_THAT(outputs(prelu, {{-2, -2}, {0.5, 3}}), ElementsAre(-1, -6));
}

TEST(ReferenceMovement, computes_pairs_by_type) {
  const auto paired = [](const std::string& fn, const std::string& type) {
    return outputs(
        layer("binary;in=" + type + "[2]," + type + "[1];out=" + type + "[2]", "fn=" + fn),
        {{-7, 7}, {2}});
  };
  EXPECT_THAT(paired("div", "f32"), ElementsAre(-3.5, 3.5));
  EXPECT_THAT(paired("div", "s32"), ElementsAre(-3, 3));
  EXPECT_THAT(paired("mod", "s32"), ElementsAre(1, 1));
  EXPECT_THAT(paired("fmod", "f32"), ElementsAre(-1, 1));
  EXPECT_THAT(paired("max", "f32"), ElementsAre(2, 7));
  const model::LayerSpec less = layer("binary;in=f32[2],f32[2];out=bool[2]", "fn=less_equal");
  EXPECT_THAT(outputs(less, {{1, 2}, {1, 1}}), ElementsAre(1, 0));
  const model::LayerSpec three = layer("sum;in=f32[2],f32[2],f32[2];out=f32[2]");
  EXPECT_THAT(outputs(three, {{1, 2}, {10, 20}, {100, 200}}), ElementsAre(111, 222));
  const model::LayerSpec cast = layer("cast;in=f32[2];out=s8[2]");
  EXPECT_THAT(outputs(cast, {{-1.9, 100.9}}), ElementsAre(-1, 100));
}

}  // namespace
}  // namespace plumb::engine
