// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/types/typed_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

TEST(TypedGraph, has_the_type_that_a_suite_names) {
  GraphSketch b;
  const model::Graph graph = b.build({b.relu(b.matmul(b.input({4, 8}), 16))});
  EXPECT_EQ(typed_graph(graph, "f32").layers[0].key, graph.layers[0].key);
  for (const char* const type : {"f16", "bf16", "f64"}) {
    const model::Graph typed = typed_graph(graph, type);
    EXPECT_THAT(typed.layers[0].key.text,
                testing::HasSubstr(std::string("in=") + type + "[4,8]," + type +
                                   "[8,16]c;out=" + type + "[4,16];acc=f32"));
    for (const model::ValueId end : {typed.inputs.at(0), typed.outputs.at(0)}) {
      EXPECT_EQ(to_text(typed.values[end].type.dtype), type) << "from end to end";
    }
  }
  EXPECT_EQ(typed_graph(graph, "int8").layers.back().key,
            int8_graph(graph).graph.layers.back().key);
  for (const char* const other : {"", "s32", "fp16", "string"}) {
    EXPECT_THROW(static_cast<void>(typed_graph(graph, other)), Error) << other;
  }
}

TEST(TypedGraph, lets_products_of_f32_be_computed_in_tf32_and_nothing_else) {
  GraphSketch b;
  const model::Graph graph =
      b.build({b.relu(b.matmul(b.relu(b.conv(b.input({1, 3, 8, 8}), 16, 3)), 8))});
  const model::Graph tf32 = typed_graph(graph, kTf32);
  ASSERT_EQ(tf32.layers.size(), graph.layers.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    std::string wanted = graph.layers[i].key.text;
    if (graph.layers[i].spec.op != "eltwise") {
      wanted.replace(wanted.find("math=strict"), 11, "math=tf32");
    }
    EXPECT_EQ(tf32.layers[i].key.text, wanted);
    EXPECT_EQ(tf32.layers[i].cost.macs, graph.layers[i].cost.macs);
  }
  for (const Match& match : matches(tf32)) {
    EXPECT_THAT(match.key.text, testing::HasSubstr(";math=tf32;")) << "fused behind a product";
  }
  EXPECT_THAT(matches(tf32), testing::SizeIs(matches(graph).size()));
}

TEST(TypedGraph, leaves_other_promises_and_types_as_they_are) {
  model::LayerSpec spec =
      model::parse_key({"v1:matmul;in=f32[4,8],f32[8,16]c;out=f32[4,16];acc=f32;math=strict"});
  EXPECT_EQ(with_tf32(spec).math, model::LayerSpec::MathClass::kTf32);
  for (const auto math :
       {model::LayerSpec::MathClass::kDownConvert, model::LayerSpec::MathClass::kDeterministic}) {
    spec.math = math;
    EXPECT_EQ(with_tf32(spec).math, math);
  }
  for (const char* const type : {"f16", "bf16", "f64"}) {
    const std::string t = type;
    const model::LayerSpec other = model::parse_key(
        {"v1:matmul;in=" + t + "[4,8]," + t + "[8,16]c;out=" + t + "[4,16];acc=f32;math=strict"});
    EXPECT_EQ(with_tf32(other).math, model::LayerSpec::MathClass::kStrict);
  }
}

}  // namespace
}  // namespace plumb::rewrite
