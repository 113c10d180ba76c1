// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/analysis/trace/executed_calls.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

TEST(CallShape, products_of_onednn_fit_by_their_dimensions) {
  rewrite::GraphSketch sketch;
  const model::ValueId x = sketch.input({1, 512});
  const model::Graph graph = sketch.build({sketch.matmul(x, 1000)});
  results::ExecutedTrace::Call call;
  call.operation = "matmul";
  call.problem = "1x512:512x1000";
  EXPECT_TRUE(fits_shapes(call, graph.layers[0]));
  call.problem = "1x512:512x1001";
  EXPECT_FALSE(fits_shapes(call, graph.layers[0]));
  call = {};
  call.operation = "aten::addmm";
  call.inputs = {{1000}, {1, 512}, {512, 1000}};
  EXPECT_TRUE(fits_shapes(call, graph.layers[0])) << "the bias comes first";
  call.inputs[1] = {1, 256};
  EXPECT_FALSE(fits_shapes(call, graph.layers[0]));
  call.inputs = {{1, 512}, {1, 512}};
  EXPECT_TRUE(fits_shapes(call, graph.layers[0])) << "an addition before brought the second one";
  call.inputs = {{1, 512}, {1, 256}};
  EXPECT_FALSE(fits_shapes(call, graph.layers[0]));
  EXPECT_TRUE(may_execute("matmul", "Gemm"));
  EXPECT_FALSE(may_execute("matmul", "Conv"));
  EXPECT_TRUE(may_execute("Gemm", "MatMul")) << "MatMulAddFusion of ONNX Runtime";
  EXPECT_TRUE(may_execute("FusedConv", "Conv"));
}

}  // namespace
}  // namespace plumb::analysis
