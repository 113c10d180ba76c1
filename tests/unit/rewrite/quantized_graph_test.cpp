// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/quantized_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/spec_check.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<std::string> ops(const model::Graph& graph) {
  std::vector<std::string> result;
  for (const model::Layer& layer : graph.layers) {
    result.push_back(layer.spec.op);
  }
  return result;
}

void expect_sound(const FusedGraph& lower) {
  const model::Graph& graph = lower.graph;
  ASSERT_EQ(lower.origins.size(), graph.layers.size());
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    if (layer.role != model::Layer::Role::kCompute && layer.role != model::Layer::Role::kView) {
      continue;
    }
    EXPECT_EQ(layer.key, model::to_key(layer.spec));
    EXPECT_EQ(model::check_spec(layer.spec), std::nullopt) << layer.key.text;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      ASSERT_EQ(layer.inputs[i].has_value(), layer.spec.inputs[i].has_value()) << layer.key.text;
      if (!layer.inputs[i]) {
        continue;
      }
      const model::Value& value = graph.values[*layer.inputs[i]];
      EXPECT_EQ(value.type.dtype, layer.spec.inputs[i]->dtype) << value.name;
      // A key may leave out extents of 1 that a constant has.
      EXPECT_EQ(element_count(value.type), element_count(*layer.spec.inputs[i])) << value.name;
      EXPECT_TRUE(!value.producer || *value.producer < id) << value.name;
    }
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      EXPECT_EQ(graph.values[layer.outputs[i]].type.dtype, layer.spec.outputs[i].dtype);
    }
  }
}

TEST(QuantizedGraph, hands_eight_bits_from_product_to_product) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 6, 6});
  const model::Graph graph = b.build({b.conv(b.relu(b.conv(x, 16, 3, true)), 4, 1)});
  const FusedGraph lower = int8_graph(graph);
  expect_sound(lower);
  EXPECT_THAT(ops(lower.graph), ElementsAre("quantize", "conv_integer", "conv_integer"));
  EXPECT_EQ(lower.graph.layers[0].key.text,
            "v1:quantize;in=f32[1,8,6,6],f32[]c;out=s8[1,8,6,6];acc=f32;math=strict;axis=0");
  EXPECT_EQ(lower.graph.layers[1].key.text,
            "v1:conv_integer;in=s8[1,8,6,6],s8[16,8,3,3]c,f32[16]c,-,-,f32[]c,f32[16]c,f32[]c;"
            "out=u8[1,16,6,6];acc=s32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];"
            "strides=[1,1];epilogue=relu");
  EXPECT_EQ(lower.graph.layers[2].key.text,
            "v1:conv_integer;in=u8[1,16,6,6],s8[4,16,1,1]c,-,-,-,f32[]c,f32[4]c;out=f32[1,4,6,6];"
            "acc=s32;math=strict;dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]");
  // What the first writes with, the second reads with.
  EXPECT_EQ(lower.graph.layers[1].inputs[7], lower.graph.layers[2].inputs[5]);
  EXPECT_THAT(lower.quantization.activations, SizeIs(2));
  EXPECT_THAT(lower.quantization.weights, SizeIs(2));
}

TEST(QuantizedGraph, keeps_residual_sums_in_f32) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 6, 6});
  const model::ValueId trunk = b.relu(b.conv(x, 8, 3));
  const model::ValueId sum = b.relu(b.add(b.conv(trunk, 8, 3), trunk));
  const model::Graph graph = b.build({b.conv(sum, 4, 1)});
  const FusedGraph lower = int8_graph(graph);
  expect_sound(lower);
  EXPECT_THAT(ops(lower.graph),
              ElementsAre("quantize", "conv_integer", "quantize", "conv_integer", "conv_integer"));
  const model::Layer& added = lower.graph.layers[3];
  EXPECT_EQ(added.inputs.back(), trunk);
  EXPECT_EQ(lower.graph.values[trunk].type.dtype, model::DataType::kF32);
  EXPECT_THAT(added.key.text, testing::HasSubstr("epilogue=add@9,relu"));
  EXPECT_EQ(added.spec.outputs[0].dtype, model::DataType::kU8);
}

TEST(QuantizedGraph, moves_numbers_about_in_eight_bits_with_one_scale) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 6, 6});
  const model::ValueId squeezed = b.relu(b.conv(x, 4, 1));
  const model::ValueId left = b.relu(b.conv(squeezed, 8, 1));
  const model::ValueId right = b.conv(squeezed, 8, 3);  // may be negative
  const model::ValueId joined =
      b.layer("concat", {left, right}, {1, 16, 6, 6}, {{"axis", std::int64_t{1}}});
  const model::Graph graph = b.build({b.conv(joined, 4, 1)});
  const FusedGraph lower = int8_graph(graph);
  expect_sound(lower);
  EXPECT_THAT(
      ops(lower.graph),
      ElementsAre(
          "quantize", "conv_integer", "conv_integer", "conv_integer", "concat", "conv_integer"));
  EXPECT_EQ(lower.graph.layers[4].key.text,
            "v1:concat;in=s8[1,8,6,6],s8[1,8,6,6];out=s8[1,16,6,6];acc=s32;math=strict;axis=1");
  EXPECT_EQ(lower.graph.layers[2].inputs[7], lower.graph.layers[3].inputs[7]);
  EXPECT_EQ(lower.graph.layers[2].inputs[7], lower.graph.layers[5].inputs[5]);
  EXPECT_THAT(lower.quantization.activations[2].of, ElementsAre(left, right, joined));
}

TEST(QuantizedGraph, rounds_behind_a_mover_that_nothing_reaches_in_eight_bits) {
  GraphSketch b;
  const model::ValueId x = b.input({1, 8, 6, 6});
  const model::ValueId turned =
      b.layer("transpose", {x}, {1, 8, 6, 6}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  const FusedGraph lower = int8_graph(b.build({b.conv(turned, 4, 1)}));
  EXPECT_THAT(ops(lower.graph), ElementsAre("transpose", "quantize", "conv_integer"));
}

TEST(QuantizedGraph, turns_gemm_into_a_product_with_an_added_bias) {
  GraphSketch b;
  const model::Graph graph = b.build({b.relu(b.gemm(b.input({4, 8}), 16))});
  const FusedGraph lower = int8_graph(graph);
  expect_sound(lower);
  ASSERT_THAT(ops(lower.graph), ElementsAre("quantize", "matmul_integer"));
  EXPECT_THAT(lower.graph.layers[1].key.text,
              testing::StartsWith("v1:matmul_integer;in=s8[4,8],s8[8,16]c,-,-,f32[]c,f32[16]c"));
}

TEST(QuantizedGraph, leaves_products_of_two_activations_alone) {
  GraphSketch b;
  const model::ValueId x = b.input({4, 4});
  const model::Graph graph = b.build({b.layer("matmul", {x, x}, {4, 4})});
  const FusedGraph lower = int8_graph(graph);
  EXPECT_THAT(ops(lower.graph), ElementsAre("matmul"));
  EXPECT_TRUE(lower.quantization.weights.empty());
}

TEST(QuantizedGraph, is_sound_for_every_model_of_the_zoo) {
  for (const zoo::Entry& entry : zoo::entries()) {
    const model::Graph graph = model::read_graph(entry.build(1, {}));
    SCOPED_TRACE(graph.name);
    const FusedGraph lower = int8_graph(graph);
    expect_sound(lower);
    std::size_t products = 0;
    for (const model::Layer& layer : lower.graph.layers) {
      products += model::is_integer_product(layer.spec) ? 1U : 0U;
    }
    EXPECT_EQ(products, lower.quantization.weights.size());
  }
}

}  // namespace
}  // namespace plumb::rewrite
