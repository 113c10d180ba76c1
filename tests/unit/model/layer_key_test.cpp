// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "harness/base/error.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/operator_families.hpp"

namespace plumb::model {
namespace {

using testing::HasSubstr;
using Integers = std::vector<std::int64_t>;

TensorType f32(Integers dims, bool constant = false) {
  return {.dtype = DataType::kF32, .dims = std::move(dims), .constant = constant, .strides = {}};
}

LayerSpec conv3x3() {
  LayerSpec spec;
  spec.op = "conv";
  spec.inputs = {f32({1, 64, 56, 56}), f32({64, 64, 3, 3}, true), f32({64}, true)};
  spec.outputs = {f32({1, 64, 56, 56})};
  spec.attributes = {{"dilations", Integers{1, 1}},
                     {"group", std::int64_t{1}},
                     {"pads", Integers{1, 1, 1, 1}},
                     {"strides", Integers{1, 1}}};
  return spec;
}

constexpr const char* kConvKey =
    "v1:conv;in=f32[1,64,56,56],f32[64,64,3,3]c,f32[64]c;out=f32[1,64,56,56];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_key({text}));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LayerKey, is_the_documented_text) {
  EXPECT_EQ(to_key(conv3x3()).text, kConvKey);
  EXPECT_EQ(parse_key({kConvKey}), conv3x3());
}

TEST(LayerKey, writes_reals_shortest_and_recognisable) {
  LayerSpec spec;
  spec.op = "eltwise";
  spec.inputs = {f32({})};
  spec.outputs = {f32({})};
  spec.attributes = {{"fn", std::string("clip")}, {"parameters", std::vector<double>{-0.0, 6.0}}};
  EXPECT_EQ(to_key(spec).text,
            "v1:eltwise;in=f32[];out=f32[];acc=f32;math=strict;fn=clip;parameters=[0.0,6.0]");
  spec.attributes["parameters"] = std::vector<double>{0.1, std::numeric_limits<double>::infinity()};
  EXPECT_THAT(to_key(spec).text, testing::EndsWith("parameters=[0.1,inf]"));
  EXPECT_EQ(parse_key(to_key(spec)), spec);
  spec.attributes["parameters"] = std::vector<double>{1e300, -1e-300};
  EXPECT_THAT(to_key(spec).text, testing::EndsWith("parameters=[1e+300,-1e-300]"));
  spec.attributes["parameters"] = std::vector<double>{std::nan(""), 1.0};
  EXPECT_TRUE(std::isnan(parse_key(to_key(spec)).reals("parameters")[0]));
}

TEST(LayerKey, does_not_write_trailing_absent_operands) {
  LayerSpec spec = conv3x3();
  spec.inputs[2].reset();
  const std::string without = to_key(spec).text;
  EXPECT_THAT(without, HasSubstr("f32[64,64,3,3]c;out="));
  spec.inputs.pop_back();
  EXPECT_EQ(to_key(spec).text, without);
}

TEST(LayerKey, carries_epilogue_strides_and_promise) {
  LayerSpec spec = conv3x3();
  spec.inputs[2].reset();
  spec.inputs.push_back(f32({1, 64, 56, 56}));
  spec.inputs[0]->strides = {200704, 1, 3584, 64};
  spec.math = LayerSpec::MathClass::kTf32;
  spec.accumulate = DataType::kF64;
  spec.epilogue = {{.fn = "add", .parameters = {}, .operand = 3},
                   {.fn = "clip", .parameters = {0.0, 6.0}, .operand = {}}};
  EXPECT_EQ(to_key(spec).text,
            "v1:conv;in=f32[1,64,56,56]%[200704,1,3584,64],f32[64,64,3,3]c,-,f32[1,64,56,56];"
            "out=f32[1,64,56,56];acc=f64;math=tf32;dilations=[1,1];group=1;pads=[1,1,1,1];"
            "strides=[1,1];epilogue=add@3,clip(0.0,6.0)");
  EXPECT_EQ(parse_key(to_key(spec)), spec);
}

/// The published Benanza key merged layers that differ in these; each must give a key of its own.
TEST(LayerKey, distinguishes_what_the_published_key_merged) {
  const std::string base = to_key(conv3x3()).text;
  std::vector<LayerSpec> others(7, conv3x3());
  others[0].inputs.pop_back();                          // has-bias
  others[1].attributes["pads"] = Integers{0, 0, 2, 2};  // asymmetric pads, same extents
  others[2].attributes["dilations"] = Integers{2, 2};
  others[3].attributes["group"] = std::int64_t{2};
  others[4].inputs[1]->constant = false;  // weights known before the run
  others[5].epilogue = {{.fn = "relu", .parameters = {}, .operand = {}}};
  others[6].math = LayerSpec::MathClass::kDeterministic;
  std::vector<std::string> keys = {base};
  for (const LayerSpec& other : others) {
    keys.push_back(to_key(other).text);
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST(LayerKey, distinguishes_padding_from_stride) {
  LayerSpec padded = conv3x3();
  LayerSpec strided = conv3x3();
  padded.attributes["pads"] = Integers{2, 2, 2, 2};
  strided.attributes["strides"] = Integers{2, 2};
  EXPECT_NE(to_key(padded), to_key(strided));
}

TEST(LayerKey, refuses_an_incomplete_specification) {
  LayerSpec spec = conv3x3();
  spec.attributes.erase("group");
  EXPECT_THROW(static_cast<void>(to_key(spec)), Error);
  spec = conv3x3();
  spec.attributes["group"] = 1.0;
  EXPECT_THROW(static_cast<void>(to_key(spec)), Error);
  spec = conv3x3();
  spec.attributes["groups"] = std::int64_t{1};
  EXPECT_THROW(static_cast<void>(to_key(spec)), Error);
  spec = conv3x3();
  EXPECT_THROW(static_cast<void>(spec.integer("pads")), Error);
  EXPECT_THROW(static_cast<void>(spec.real("absent")), Error);
}

TEST(LayerKey, names_the_field_of_a_bad_key) {
  const std::string key = kConvKey;
  EXPECT_THAT(error_of(""), HasSubstr("'version'"));
  EXPECT_THAT(error_of(replaced(key, "v1:", "v2:")), HasSubstr("'version'"));
  EXPECT_THAT(error_of(replaced(key, "v1:conv", "v1:warp")), HasSubstr("'operator'"));
  EXPECT_THAT(error_of(replaced(key, "in=f32", "in=f31")), HasSubstr("'in'"));
  EXPECT_THAT(error_of(replaced(key, "[1,64,56,56],", "[-1,64,56,56],")), HasSubstr("negative"));
  EXPECT_THAT(error_of(replaced(key, "[1,64,56,56],", "[9223372036854775808,64],")),
              HasSubstr("64 bits"));
  EXPECT_THAT(error_of(replaced(key, "[1,64,56,56],", "[4294967296,4294967296],")),
              HasSubstr("2^40"));
  EXPECT_THAT(error_of(replaced(key, "out=", "out=-,")), HasSubstr("'out'"));
  EXPECT_THAT(error_of(replaced(key, "acc=f32", "acc=")), HasSubstr("'acc'"));
  EXPECT_THAT(error_of(replaced(key, "math=strict", "math=loose")), HasSubstr("'math'"));
  EXPECT_THAT(error_of(replaced(key, ";group=1", "")), HasSubstr("'group'"));
  EXPECT_THAT(error_of(replaced(key, ";group=1", ";group=one")), HasSubstr("'group'"));
  EXPECT_THAT(error_of(replaced(key, ";group=1", ";group=1;group=1")), HasSubstr("twice"));
  EXPECT_THAT(error_of(replaced(key, ";group=1", ";grape=1")), HasSubstr("'grape'"));
  EXPECT_THAT(error_of(replaced(key, ";group=1", ";group=01")), HasSubstr("canonical"));
  EXPECT_THAT(error_of(key + ";"), HasSubstr("attribute name"));
  EXPECT_THAT(error_of(key + ";epilogue=warp"), HasSubstr("'epilogue'"));
  EXPECT_THAT(error_of(key + ";epilogue=clip(0.0)"), HasSubstr("'epilogue'"));
  EXPECT_THAT(error_of(key + ";epilogue=add@7"), HasSubstr("'epilogue'"));
  EXPECT_THAT(error_of(key + ";epilogue=relu@2"), HasSubstr("'epilogue'"));
  EXPECT_THAT(error_of(key + std::string(70000, 'x')), HasSubstr("longer"));
}

TEST(LayerKey, refuses_gradients_that_do_not_belong_to_a_layer) {
  const std::string data =
      "v1:conv_backward_data;in=f32[2,32,5,5],f32[32,16,3,3];out=f32[2,16,10,10];acc=f32;"
      "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[2,2]";
  EXPECT_EQ(error_of(data), "no error");
  EXPECT_EQ(error_of(replaced(data, "out=f32[2,16,10,10]", "out=f32[2,16,9,9]")), "no error")
      << "two images have this result";
  EXPECT_THAT(error_of(replaced(data, "out=f32[2,16,10,10]", "out=f32[2,16,11,11]")),
              HasSubstr("where the layer's result is [2,32,6,6]"));
  EXPECT_THAT(error_of(replaced(data, "f32[32,16,3,3]", "f32[31,16,3,3]")),
              HasSubstr("where the layer's result is [2,31,5,5]"));
  const std::string weights =
      "v1:conv_backward_weights;in=f32[2,32,5,5],f32[2,16,10,10];out=f32[32,16,3,3],f32[32];"
      "acc=f32;math=strict;dilations=[1,1];group=1;outputs=wb;pads=[1,1,1,1];strides=[2,2]";
  EXPECT_EQ(error_of(weights), "no error");
  EXPECT_THAT(error_of(replaced(weights, "outputs=wb", "outputs=w")), HasSubstr("2 outputs"));
  EXPECT_THAT(error_of(replaced(weights, "outputs=wb", "outputs=b")), HasSubstr("not one of w|wb"));
  EXPECT_THAT(error_of(replaced(weights, "f32[32];acc", "f32[16];acc")),
              HasSubstr("output 1 is not [32]"));
  const std::string norm =
      "v1:layer_norm_backward;in=f32[2,7,32],f32[2,7,32],f32[32],f32[2,7,1],f32[2,7,1];"
      "out=f32[2,7,32],f32[32],f32[32];acc=f32;math=strict;axis=2;epsilon=0.001";
  EXPECT_EQ(error_of(norm), "no error");
  EXPECT_THAT(error_of(replaced(norm, "f32[2,7,1],f32[2,7,1]", "f32[2,7,1],f32[2,7,2]")),
              HasSubstr("operand 4 is not [2,7,1]"));
}

TEST(LayerKey, reads_fused_gradients_and_masks_of_bits) {
  const std::string key =
      "v1:gemm;in=f32[6,24],f32[24,40],-,f32[6,40];out=f32[6,40];acc=f32;math=strict;alpha=1.0;"
      "beta=1.0;trans_a=0;trans_b=0;epilogue=clip_backward(0.0,6.0)@3";
  EXPECT_EQ(to_key(parse_key({key})).text, key);
  EXPECT_THAT(error_of(replaced(key, "clip_backward(0.0,6.0)@3", "clip_backward@3")),
              HasSubstr("takes 2 parameters"));
  EXPECT_THAT(error_of(replaced(key, "clip_backward(0.0,6.0)@3", "relu_backward@2")),
              HasSubstr("'epilogue'"));
  EXPECT_THAT(error_of(replaced(key, "clip_backward(0.0,6.0)@3", "floor_backward@3")),
              HasSubstr("'epilogue'"));
  EXPECT_THAT(error_of(replaced(key, "clip_backward(0.0,6.0)@3", "bit_mask@3")),
              HasSubstr("not u8[6,16]"));
  EXPECT_EQ(
      error_of(replaced(
          replaced(key, "clip_backward(0.0,6.0)@3", "bit_mask@3"), "-,f32[6,40]", "-,u8[6,16]")),
      "no error");
  EXPECT_THAT(error_of("v1:eltwise_backward;in=f32[4],f32[4];out=f32[4];acc=f32;math=strict;"
                       "fn=floor;parameters=[]"),
              HasSubstr("no gradient"));
}

TEST(LayerKey, refuses_every_truncation_of_a_key) {
  const std::string key = kConvKey;
  for (std::size_t size = 0; size < key.size(); ++size) {
    EXPECT_NE(error_of(key.substr(0, size)), "no error") << key.substr(0, size);
  }
}

TEST(LayerKey, bounds_operand_count_and_rank) {
  std::string many = "v1:concat;in=";
  for (int i = 0; i < 2000; ++i) {
    many += "f32[1],";
  }
  EXPECT_THAT(error_of(many + "f32[1];out=f32[1];acc=f32;math=strict;axis=0"),
              HasSubstr("operands"));
  EXPECT_THAT(
      error_of("v1:view;in=f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1];out=f32[1];acc=f32;math=strict"),
      HasSubstr("rank"));
}

/// Draws a specification of one of the operators whose shapes are free, with every kind of
/// attribute.
LayerSpec random_spec(std::mt19937_64& random) {
  const auto pick = [&](std::uint64_t limit) {
    return static_cast<std::int64_t>(random() % limit);
  };
  const auto real = [&] {
    return std::ldexp(static_cast<double>(pick(2000001) - 1000000),
                      static_cast<int>(pick(200) - 100));
  };
  LayerSpec spec;
  spec.math = static_cast<LayerSpec::MathClass>(pick(4));
  spec.accumulate = static_cast<DataType>(pick(16));
  TensorType type;
  type.dtype = static_cast<DataType>(pick(16));
  for (std::int64_t rank = pick(6); rank > 0; --rank) {
    type.dims.push_back(pick(100));
  }
  TensorType input = type;
  input.constant = pick(2) == 1;
  if (pick(2) == 1) {
    input.strides = Integers(type.dims.size(), pick(1000));
  }
  spec.inputs = {input};
  spec.outputs = {type};
  switch (pick(3)) {
    case 0:
      spec.op = "eltwise";
      spec.attributes = {{"fn", std::string("selu")},
                         {"parameters", std::vector<double>{real(), real()}}};
      break;
    case 1:
      spec.op = "view";
      break;
    default:
      spec.op = "binary";
      spec.inputs.push_back(input);
      spec.attributes = {{"fn", std::string("mul")}};
  }
  for (std::int64_t steps = pick(4); steps > 0; --steps) {
    if (pick(2) == 1) {
      spec.epilogue.push_back({.fn = "leaky_relu", .parameters = {real()}, .operand = {}});
    } else {
      spec.epilogue.push_back({.fn = "add", .parameters = {}, .operand = 0});
    }
  }
  return spec;
}

TEST(LayerKey, round_trips_random_specifications) {
  std::mt19937_64 random(20261121);
  for (int i = 0; i < 5000; ++i) {
    const LayerSpec spec = random_spec(random);
    const LayerKey key = to_key(spec);
    ASSERT_EQ(parse_key(key), spec) << key.text;
  }
}

TEST(LayerKey, survives_random_damage) {
  std::mt19937_64 random(7);
  constexpr std::string_view kBytes = "0123456789abcdefvxyz:;=,[]()%@-+._ \x01\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text = to_key(random_spec(random)).text;
    for (std::uint64_t edits = random() % 4 + 1; edits > 0; --edits) {
      text[random() % text.size()] = kBytes[random() % kBytes.size()];
    }
    try {
      ASSERT_EQ(to_key(parse_key({text})).text, text);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), Error::Kind::kUser) << text;
    }
  }
}

TEST(LayerKey, keeps_the_vocabulary_in_order) {
  for (const OpSchema& schema : op_schemas()) {
    for (std::size_t i = 1; i < schema.attribute_count(); ++i) {
      EXPECT_LT(schema.attributes[i - 1].name, schema.attributes[i].name) << schema.op;
    }
  }
}

TEST(LayerKey, of_a_normalisation_is_known_by_its_operator) {
  std::size_t found = 0;
  for (const OpSchema& schema : op_schemas()) {
    LayerSpec spec;
    spec.op = schema.op;
    const bool is_named_so = spec.op.find("norm") != std::string::npos;
    EXPECT_EQ(is_normalization(spec), is_named_so) << "a new operator? " << spec.op;
    found += is_normalization(spec) ? 1U : 0U;
  }
  EXPECT_EQ(found, 8U);
}

TEST(LayerKey, is_known_by_its_version_and_names_its_operator) {
  EXPECT_TRUE(is_layer_key("v1:relu;in=f32[8]"));
  for (const char* const text : {"", "v", "v2:relu;in=f32[8]", "vgg16", "external:mine:v1:x"}) {
    EXPECT_FALSE(is_layer_key(text)) << text;
  }
  EXPECT_EQ(operator_name("v1:conv;in=f32[1,64,56,56]"), "conv");
  EXPECT_EQ(operator_name("v1:relu"), "relu");
  EXPECT_EQ(operator_name(""), "");
  EXPECT_EQ(operator_name("relu"), "relu");
}

}  // namespace
}  // namespace plumb::model
