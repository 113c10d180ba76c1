// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/typed_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "harness/rewrite/quantized_graph.hpp"
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

}  // namespace
}  // namespace plumb::rewrite
