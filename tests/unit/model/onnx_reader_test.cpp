// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/onnx_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <limits>
#include <stdexcept>

#include "tests/unit/model/model_text.hpp"

namespace plumb::model {
namespace {

using test::error_of_text;
using test::graph_of_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> list;
  for (const Layer& layer : graph.layers) {
    list.push_back(layer.onnx_op);
  }
  return list;
}

constexpr const char* kResidual =
    "net (float[1,8,4,4] x) => (float[1,8,4,4] y) <float[8,8,3,3] w, float[8] b> {"
    "  c1 = Conv<pads=[1,1,1,1]>(x, w, b)"
    "  r1 = Relu(c1)"
    "  c2 = Conv<pads=[1,1,1,1]>(r1, w, b)"
    "  r2 = Relu(c2)"
    "  y = Add(r2, x)"
    "}";

TEST(OnnxReader, builds_layers_values_and_totals) {
  const Graph graph = graph_of_text(kResidual);
  EXPECT_EQ(graph.name, "net");
  EXPECT_EQ(graph.opset, 17);
  EXPECT_THAT(ops(graph), ElementsAre("Conv", "Relu", "Conv", "Relu", "Add"));
  EXPECT_EQ(graph.parameters, 8 * 8 * 9 + 8);
  EXPECT_EQ(graph.weight_bytes.value, 4 * (8 * 8 * 9 + 8));
  const Graph::Totals sums = totals(graph);
  EXPECT_EQ(sums.layers, 5U);
  EXPECT_EQ(sums.unique_layers, 3U);
  EXPECT_EQ(sums.macs, 2 * 16 * 8 * 8 * 9);
  EXPECT_EQ(sums.ops.at("Conv"), 2U);
  EXPECT_THAT(predecessors(graph),
              ElementsAre(std::vector<LayerId>{},
                          std::vector<LayerId>{0},
                          std::vector<LayerId>{1},
                          std::vector<LayerId>{2},
                          std::vector<LayerId>{3}));
  const Layer& conv = graph.layers[0];
  ASSERT_EQ(conv.inputs.size(), 3U);
  EXPECT_EQ(graph.values[*conv.inputs[1]].name, "w");
  EXPECT_TRUE(graph.values[*conv.inputs[1]].type.constant);
  EXPECT_EQ(graph.values[graph.outputs.at(0)].producer, LayerId{4});
  EXPECT_EQ(graph.values[graph.inputs.at(0)].type.dims, (std::vector<std::int64_t>{1, 8, 4, 4}));
}

TEST(OnnxReader, saturates_totals_and_says_so) {
  Graph graph;
  graph.layers.resize(3);
  for (Layer& layer : graph.layers) {
    layer.cost.macs = std::int64_t{1} << 62;
  }
  EXPECT_TRUE(totals(graph).macs_saturated);
  EXPECT_EQ(totals(graph).macs, std::numeric_limits<std::int64_t>::max());
  graph.layers.resize(2);
  graph.layers[1].cost.macs -= 1;  // 2^63 - 1 in all
  EXPECT_FALSE(totals(graph).macs_saturated);
  EXPECT_EQ(totals(graph).macs, std::numeric_limits<std::int64_t>::max());
}

TEST(OnnxReader, knows_which_types_and_shapes_are_unknown) {
  const Graph graph = graph_of_text(
      "g (float[4] x, complex64[2] c) => (n, r, c2) { n = NonZero(x) r = Relu(x) c2 = Identity(c) "
      "}");
  const auto find = [&](std::string_view name) -> const Value& {
    for (const Value& value : graph.values) {
      if (value.name == name) {
        return value;
      }
    }
    throw std::out_of_range(std::string(name));
  };
  EXPECT_TRUE(find("x").type_known && find("x").shape_known);
  EXPECT_TRUE(find("r").type_known && find("r").shape_known);
  EXPECT_TRUE(find("n").type_known);
  EXPECT_EQ(find("n").type.dtype, DataType::kS64);
  EXPECT_FALSE(find("n").shape_known);
  EXPECT_FALSE(find("c").type_known);
  EXPECT_TRUE(find("c").shape_known);
  EXPECT_THAT(find("c2").type.dims, ElementsAre(2));
}

TEST(OnnxReader, sorts_nodes_that_are_out_of_order) {
  const Graph graph = graph_of_text("g (float[4] x) => (y) { y = Relu(t) t = Tanh(x) }");
  EXPECT_THAT(ops(graph), ElementsAre("Tanh", "Relu"));
}

TEST(OnnxReader, names_an_anonymous_node_for_its_output) {
  EXPECT_EQ(graph_of_text("g (float[4] x) => (y) { y = Relu(x) }").layers[0].name, "y");
}

TEST(OnnxReader, reads_weights_listed_among_the_inputs) {
  onnx::ModelProto model;
  model.set_ir_version(3);
  model.add_opset_import()->set_version(9);
  onnx::GraphProto& graph = *model.mutable_graph();
  for (const char* name : {"x", "w"}) {
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(name);
    input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    for (int i = 0; i < 2; ++i) {
      input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
    }
  }
  onnx::TensorProto& weight =
      *graph.add_initializer();  // of a weight-free model: type and shape only
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(4);
  weight.add_dims(4);
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("MatMul");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  graph.add_output()->set_name("y");
  const Graph read = read_graph(model);
  EXPECT_EQ(read.inputs.size(), 1U);
  EXPECT_EQ(read.parameters, 16);
  EXPECT_EQ(read.layers.at(0).key.text,
            "v1:matmul;in=f32[4,4],f32[4,4]c;out=f32[4,4];acc=f32;math=strict");
}

TEST(OnnxReader, binds_batch_and_named_dimensions) {
  const char* text = "g (float[N,S,4] x) => (y) { y = Relu(x) }";
  ReadOptions options;
  options.batch = 8;
  options.dims["S"] = 128;
  EXPECT_THAT(graph_of_text(text, 17, options).layers[0].key.text, HasSubstr("in=f32[8,128,4]"));
  options.dims.clear();
  EXPECT_THAT(error_of_text(text, 17, options), HasSubstr("--dim S=N"));
  options.dims = {{"S", 128}, {"T", 1}};
  EXPECT_THAT(error_of_text(text, 17, options), HasSubstr("no dimension 'T'"));
  EXPECT_THAT(error_of_text(text), HasSubstr("--batch"));
  options = {};
  options.dims = {{"x.0", 2}, {"x.1", 3}};
  EXPECT_THAT(graph_of_text(text, 17, options).layers[0].key.text, HasSubstr("in=f32[2,3,4]"));
}

TEST(OnnxReader, leaves_a_fixed_batch_fixed) {
  const char* text = "g (float[3,4,5] x) => (float[3,4,5] y) { y = Relu(x) }";
  EXPECT_THAT(error_of_text(text, 17, {.batch = 1}),
              AllOf(HasSubstr("'x' is fixed at 3"), HasSubstr("--rebatch 1")));
  EXPECT_THAT(graph_of_text(text, 17, {.batch = 3}).layers[0].key.text, HasSubstr("in=f32[3,4,5]"));
  const Graph open = graph_of_text(text, 17, {.open_batch = 1});
  EXPECT_THAT(open.layers[0].key.text, HasSubstr("in=f32[3,4,5]"));
  EXPECT_THAT(open.notes, IsEmpty());
  const Graph rewritten = graph_of_text(text, 17, {.batch = 1, .rebatch = true});
  EXPECT_THAT(rewritten.layers[0].key.text, HasSubstr("in=f32[1,4,5];out=f32[1,4,5]"));
  EXPECT_THAT(rewritten.notes,
              ElementsAre("the first dimension of input 'x' is rewritten from 3 to 1"));
}

TEST(OnnxReader, says_what_an_open_batch_was_set_to) {
  const char* text = "g (float[N,4] x, float[2] w) => (y, z) { y = Relu(x) z = Relu(w) }";
  const Graph graph = graph_of_text(text, 17, {.open_batch = 1});
  EXPECT_THAT(graph.layers[0].key.text, HasSubstr("in=f32[1,4]"));
  EXPECT_THAT(graph.layers[1].key.text, HasSubstr("in=f32[2]"));
  EXPECT_THAT(
      graph.notes,
      ElementsAre("the first dimension 'N' of input 'x' is open: it is set to 1; --batch N (in a "
                  "suite: batch = N) sets another"));
  const Graph asked = graph_of_text(text, 17, {.batch = 8});  // leaves w, which is fixed
  EXPECT_THAT(asked.layers[0].key.text, HasSubstr("in=f32[8,4]"));
  EXPECT_THAT(asked.layers[1].key.text, HasSubstr("in=f32[2]"));
  EXPECT_THAT(asked.notes, IsEmpty());
}

TEST(OnnxReader, refuses_a_batch_that_a_named_dimension_contradicts) {
  const char* text = "g (float[N,4] x) => (y) { y = Relu(x) }";
  EXPECT_THAT(
      error_of_text(text, 17, {.batch = 8, .dims = {{"N", 4}}}),
      AllOf(HasSubstr("a batch of 8 is requested"), HasSubstr("--dim sets input 'x' to 4")));
  const ReadOptions same{.batch = 8, .dims = {{"N", 8}}};
  EXPECT_THAT(graph_of_text(text, 17, same).layers[0].key.text, HasSubstr("in=f32[8,4]"));
  const ReadOptions other{.batch = 8, .dims = {{"S", 4}}};  // of an input that is no batch
  const char* two = "g (float[S,4] x, float[N,4] w) => (y, z) { y = Relu(x) z = Relu(w) }";
  EXPECT_THAT(graph_of_text(two, 17, other).layers[0].key.text, HasSubstr("in=f32[4,4]"));
}

TEST(OnnxReader, lets_a_fixed_reshape_follow_the_batch) {
  const ReadOptions options{.batch = 8, .rebatch = true};
  const Graph graph = graph_of_text(
      "g (float[1,3,2,2] x) => (y) <int64[2] open = {1,-1}, int64[2] closed = {1,12}> {"
      "  a = Reshape(x, open)"
      "  b = Reshape(x, closed)"
      "  y = Add(a, b)"
      "}",
      17,
      options);
  EXPECT_THAT(graph.layers[0].key.text, HasSubstr("in=f32[8,3,2,2];out=f32[8,12]"));
  EXPECT_EQ(graph.layers[1].key, graph.layers[0].key);
  EXPECT_THAT(graph.layers[2].key.text, HasSubstr("out=f32[8,12]"));
}

TEST(OnnxReader, folds_what_acts_on_weights_only) {
  const Graph graph = graph_of_text(
      "g (float[1,8,2,2] x) => (y) <float[8] scale, int64[2] axes = {1,2}> {"
      "  s = Unsqueeze(scale, axes)"
      "  y = Mul(x, s)"
      "}");
  EXPECT_THAT(ops(graph), ElementsAre("Unsqueeze", "Mul"));
  EXPECT_EQ(graph.layers[0].role, Layer::Role::kFolded);
  EXPECT_TRUE(graph.layers[0].key.text.empty());
  EXPECT_EQ(graph.layers[0].cost.output_bytes.value, 0);
  EXPECT_THAT(graph.layers[1].key.text, HasSubstr("in=f32[1,8,2,2],f32[8,1,1]c;"));
  EXPECT_EQ(graph.parameters, 8);  // counted where the file holds them
  EXPECT_EQ(totals(graph).layers, 2U);
  EXPECT_EQ(totals(graph).folded_layers, 1U);
}

TEST(OnnxReader, does_not_count_constants_and_shape_arithmetic) {
  const Graph graph = graph_of_text(
      "g (float[2,3,4] x) => (y) {"
      "  shape = Shape(x)"
      "  zero = Constant<value = int64[1] {0}>()"
      "  batch = Gather<axis=0>(shape, zero)"
      "  rest = Constant<value_ints = [-1]>()"
      "  target = Concat<axis=0>(batch, rest)"
      "  flat = Reshape(x, target)"
      "  size = Constant<value = int64[2] {12, 5}>()"
      "  w = ConstantOfShape(size)"
      "  y = MatMul(flat, w)"
      "}");
  EXPECT_THAT(ops(graph), ElementsAre("Reshape", "MatMul"));
  EXPECT_EQ(graph.layers[0].role, Layer::Role::kView);
  EXPECT_THAT(graph.layers[1].key.text, HasSubstr("in=f32[2,12],f32[12,5]c;out=f32[2,5]"));
  EXPECT_EQ(graph.parameters, 60);
}

TEST(OnnxReader, evaluates_the_chains_that_exporters_write) {
  const Graph graph = graph_of_text(
      "g (float[1,3,10,20] x) => (y) <int64[1] two = {2}, int64[1] four = {4}, float[2] factor = "
      "{2.0, 1.5}> {"
      "  shape = Shape(x)"
      "  spatial = Slice(shape, two, four)"
      "  real = Cast<to=1>(spatial)"
      "  scaled = Mul(real, factor)"
      "  down = Floor(scaled)"
      "  whole = Cast<to=7>(down)"
      "  zero = Constant<value = int64[1] {0}>()"
      "  front = Slice(shape, zero, two)"
      "  sizes = Concat<axis=0>(front, whole)"
      "  y = Resize<mode=\"linear\">(x, , , sizes)"
      "}");
  EXPECT_THAT(ops(graph), ElementsAre("Resize"));
  EXPECT_THAT(graph.layers[0].key.text, HasSubstr("out=f32[1,3,20,30]"));
}

TEST(OnnxReader, evaluates_masks_of_transformers) {
  const Graph graph = graph_of_text(
      "g (float[2,3] x) => (y) {"
      "  lowest = Constant<value_float = -1000.0>()"
      "  zero = Constant<value_int = 0>()"
      "  shape = Shape(x)"
      "  ones = ConstantOfShape<value = float[1] {1.0}>(shape)"
      "  lower = Trilu<upper=0>(ones, zero)"
      "  kept = Equal(lower, ones)"
      "  none = CastLike(lower, ones)"
      "  mask = Where(kept, none, lowest)"
      "  rows = ReduceMin<axes=[1], keepdims=1>(mask)"
      "  sums = ReduceSum<keepdims=0>(rows)"
      "  y = Add(x, sums)"
      "}");
  EXPECT_THAT(ops(graph), ElementsAre("Add"));
  EXPECT_EQ(graph.values[*graph.layers[0].inputs[1]].scalar, -2000.0);
}

TEST(OnnxReader, gathers_positions_without_an_input) {
  const Graph graph = graph_of_text(
      "g (int64[1,6] ids) => (y) <float[50,8] words, float[20,8] positions, int64 one = {1}, int64 "
      "zero = {0}> {"
      "  shape = Shape(ids)"
      "  length = Gather<axis=0>(shape, one)"
      "  range = Range(zero, length, one)"
      "  p = Gather<axis=0>(positions, range)"
      "  e = Gather<axis=0>(words, ids)"
      "  y = Add(e, p)"
      "}");
  EXPECT_THAT(ops(graph), ElementsAre("Gather", "Gather", "Add"));
  EXPECT_EQ(graph.layers[0].role, Layer::Role::kFolded);
  EXPECT_THAT(graph.layers[2].key.text, HasSubstr("in=f32[1,6,8],f32[6,8]c;out=f32[1,6,8]"));
}

TEST(OnnxReader, keeps_the_value_of_scalar_constants) {
  const Graph graph =
      graph_of_text("g (float[4] x) => (y) <float half = {0.1}> { y = Mul(x, half) }");
  EXPECT_EQ(graph.values[*graph.layers[0].inputs[1]].scalar, 0.1);
}

TEST(OnnxReader, reports_what_it_cannot_key_layer_by_layer) {
  const Graph graph = graph_of_text(
      "g (float[4] x, bool[1] c) => (y) {"
      "  a = Relu(x)"
      "  b = If(c) <then_branch = t () => (float[4] o) { o = Identity(a) }, else_branch = e () => "
      "(float[4] o) { o = "
      "Neg(a) }>"
      "  n = NonZero(a)"
      "  d = Tan(a)"
      "  y = Tanh(d)"
      "}");
  ASSERT_EQ(graph.layers.size(), 5U);
  EXPECT_EQ(graph.layers[1].role, Layer::Role::kUnsupported);
  EXPECT_THAT(graph.layers[1].reason, HasSubstr("subgraph"));
  EXPECT_THAT(graph.layers[2].reason, HasSubstr("NonZero"));
  EXPECT_THAT(graph.layers[3].reason, HasSubstr("Tan has no layer key"));
  EXPECT_EQ(graph.layers[4].role,
            Layer::Role::kCompute);  // shapes go on behind an unsupported layer
}

TEST(OnnxReader, leaves_to_a_converter_what_opset_7_changed) {
  const Graph graph = graph_of_text("g (float[4] x) => (y) { a = Relu(x) y = Add(a, x) }", 6);
  EXPECT_EQ(graph.layers[0].role, Layer::Role::kCompute);
  EXPECT_THAT(graph.layers[1].reason, HasSubstr("opset 6"));
}

TEST(OnnxReader, goes_on_behind_an_unknown_domain_where_the_file_says_the_shape) {
  onnx::ModelProto model;
  model.add_opset_import()->set_version(17);
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain("com.example");
  import.set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  for (onnx::ValueInfoProto* info : {graph.add_input(), graph.add_value_info()}) {
    info->set_name(info == &graph.input(0) ? "x" : "t");
    info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    info->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(5);
  }
  onnx::NodeProto& first = *graph.add_node();
  first.set_op_type("Magic");
  first.set_domain("com.example");
  first.add_input("x");
  first.add_output("t");
  onnx::NodeProto& second = *graph.add_node();
  second.set_op_type("Relu");
  second.add_input("t");
  second.add_output("y");
  graph.add_output()->set_name("y");
  const Graph read = read_graph(model);
  ASSERT_EQ(read.layers.size(), 2U);
  EXPECT_EQ(read.layers[0].onnx_op, "com.example.Magic");
  EXPECT_THAT(read.layers[0].reason, HasSubstr("com.example"));
  EXPECT_THAT(read.layers[1].key.text, HasSubstr("f32[5]"));
}

}  // namespace
}  // namespace plumb::model
