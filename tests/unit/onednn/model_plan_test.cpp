// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/onednn/exec/model_planner.hpp"
#include "tests/unit/onednn/sample_model.hpp"

namespace plumb::onednn {
namespace {

TEST(ModelPlan, hands_layouts_on_from_layer_to_layer) {
  const std::size_t reorders = expect_right(
      {"g (float[1,3,32,32] x) => (float[1,10] y) {"
       "  a = Conv<pads=[1,1,1,1]>(x, w1)  b = Relu(a)"
       "  c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(b)"
       "  d = Conv<pads=[1,1,1,1]>(c, w2)  e = BatchNormalization(d, s, o, m, v)  f = Add(e, c)"
       "  h = Relu(f)  i = GlobalAveragePool(h)  j = Flatten(i)  y = Gemm<transB=1>(j, w3, b3)}",
       {{"w1", {32, 3, 3, 3}},
        {"w2", {32, 32, 3, 3}},
        {"s", {32}},
        {"o", {32}},
        {"m", {32}},
        {"v", {32}},
        {"w3", {10, 32}},
        {"b3", {10}}}});
  EXPECT_LE(reorders, 2U);
}

TEST(ModelPlan, makes_a_layout_once_for_all_that_want_it) {
  // Both branches read the same plain input; the sum's operands lie as the convolutions leave them.
  const std::size_t reorders =
      expect_right({"g (float[1,16,12,12] x) => (float[1,16,12,12] y) {"
                    "  a = Conv(x, w1)  b = Conv(x, w2)  c = Add(a, b)  y = Relu(c)}",
                    {{"w1", {16, 16, 1, 1}}, {"w2", {16, 16, 1, 1}}}});
  EXPECT_LE(reorders, 2U);
}

TEST(ModelPlan, shuffles_channels_as_they_lie) {
  // ShuffleNet's: no reorder but the input's and the output's, whatever order the library chooses.
  const std::size_t reorders = expect_right(
      {"g (float[2,24,9,9] x) => (float[2,48,9,9] y) {"
       "  a = Conv(x, w1)  s5 = Constant<value_ints=[2,3,16,9,9]>()  b = Reshape(a, s5)"
       "  c = Transpose<perm=[0,2,1,3,4]>(b)  s4 = Constant<value_ints=[2,48,9,9]>()"
       "  d = Reshape(c, s4)  y = Conv(d, w2)}",
       {{"w1", {48, 24, 1, 1}}, {"w2", {48, 48, 1, 1}}}});
  EXPECT_LE(reorders, 2U);
}

TEST(ModelPlan, transposes_what_lies_in_channels_last) {
  expect_right(
      {"g (float[2,16,6,5] x) => (float[2,6,5,16] y, float[5,6,16,2] z, float[2,80,6] u) {"
       "  a = Conv(x, w1)  y = Transpose<perm=[0,2,3,1]>(a)  z = Transpose<perm=[3,2,1,0]>(a)"
       "  shape = Constant<value_ints=[2,80,6]>()  b = Transpose<perm=[0,1,3,2]>(a)"
       "  u = Reshape(b, shape)}",
       {{"w1", {16, 16, 1, 1}}}});
}

TEST(ModelPlan, brings_results_into_the_dense_order_where_they_must_be) {
  expect_right(
      {"g (float[2,8,6,6] x) => (float[2,16,6,6] y, float[2,72,4] z, float[2,8,6,6] p) {"
       "  p = Conv(x, w1)  q = Conv(x, w1)  r = Sigmoid(q)  y = Concat<axis=1>(p, r)"
       "  shape = Constant<value_ints=[2,72,4]>()  z = Reshape(r, shape)}",
       {{"w1", {8, 8, 1, 1}}}});
}

TEST(ModelPlan, runs_what_only_own_kernels_can_beside_the_library) {
  expect_right(
      {"g (float[1,4,5,5] x) => (float[1,5,5,4] y, float[1,4,7,7] z) {"
       "  a = Conv(x, w1)  y = Transpose<perm=[0,2,3,1]>(a)"
       "  pads = Constant<value_ints=[0,0,1,1,0,0,1,1]>()  b = Erf(a)  z = Pad(b, pads)}",
       {{"w1", {4, 4, 1, 1}}}});
}

TEST(ModelPlan, computes_element_by_element_with_numbers_and_rows) {
  expect_right(
      {"g (float[1,24,7,7] x) => (float[1,24,7,7] y) {"
       "  a = Conv(x, w1)  half = Constant<value_float=0.5>()  b = Mul(a, half)"
       "  c = Sub(half, b)  d = Mul(c, row)  e = Clip(d)  y = Max(e, b, a)}",
       {{"w1", {24, 24, 1, 1}}, {"row", {1, 24, 1, 1}}}});
}

TEST(ModelPlan, folds_what_depends_on_weights_only) {
  expect_right(
      {"g (float[3,8] x) => (float[3,6] y) {"
       "  t = Transpose<perm=[1,0]>(w)  two = Constant<value_float=2.0>()  u = Mul(t, two)"
       "  y = MatMul(x, u)}",
       {{"w", {6, 8}}}});
}

TEST(ModelPlan, keeps_what_recurrent_layers_count_on) {
  // Without a bias the library reads zeros, which no result may lie upon: b and c leave room.
  expect_right(
      {"g (float[3,2,64] x) => (float[3,1,2,8] y) {"
       "  b = Exp(x)  c = Exp(b)  d = MatMul(c, p)  e = GRU<hidden_size=8>(d, w, r)"
       "  y = Exp(e)}",
       {{"p", {64, 8}}, {"w", {1, 24, 8}}, {"r", {1, 24, 8}}}});
}

TEST(ModelPlan, passes_inputs_and_constants_through) {
  expect_right(
      {"g (float[2,3] x) => (float[2,3] x2, float[6] y) {"
       "  x2 = Identity(x)  shape = Constant<value_ints=[6]>()  y = Reshape(x, shape)}"});
}

TEST(ModelPlan, marks_each_step_and_computes_the_same) {
  const engine::ReadyModel ready =
      executed({"g (float[1,16,8,8] x) => (float[1,16,8,8] y) {"
                "  a = Conv(x, w)  b = Sigmoid(a)  y = Conv(b, w)}",
                {{"w", {16, 16, 1, 1}}}});
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  worker::Program& program = *ready.prepared.program;
  const std::vector<model::Tensor> before = program.outputs(0);
  worker::StepMark step;
  program.execute_marked(0, step);
  EXPECT_EQ(step.current(), ready.prepared.steps.size() - 1);
  const std::vector<model::Tensor> after = program.outputs(0);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(after[0].data, before[0].data);
}

TEST(ModelPlan, reuses_memory_along_a_chain) {
  std::string text = "g (float[1,16,64,64] x0) => (float[1,16,64,64] x9) {";
  for (int i = 0; i < 9; ++i) {
    text += fmt::format(" x{} = Conv(x{}, w)", i + 1, i);
  }
  const engine::ReadyModel ready = executed({text + "}", {{"w", {16, 16, 1, 1}}}});
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  constexpr std::int64_t kResult = 16 * 64 * 64 * 4;
  EXPECT_LT(ready.prepared.program->facts().workspace.value, 4 * kResult);
}

TEST(ModelPlan, refuses_a_model_that_exceeds_the_machine_before_anything_is_allocated) {
  const engine::ReadyModel ready =
      executed({"g (float[1,262144,1,1] x) => (float[1,262144,1,1] y) { y = Conv(x, w)}",
                {{"w", {262144, 262144, 1, 1}}}});
  EXPECT_EQ(ready.outcome.kind, results::Outcome::Kind::kOutOfMemory);
  EXPECT_EQ(ready.prepared.program, nullptr);
  EXPECT_THAT(ready.outcome.reason, testing::HasSubstr("bytes of memory, and the machine has"));
}

TEST(ModelPlan, names_the_layer_that_cannot_be_executed) {
  const engine::ReadyModel ready =
      executed({"g (float[4] x) => (float[n] y) { y = Unique<sorted=0>(x)}"});
  EXPECT_EQ(ready.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(ready.outcome.reason, testing::HasSubstr("y"));
}

TEST(ModelPlan, says_that_an_output_is_no_number) {
  const engine::ReadyModel ready =
      executed({"g (float[4] x) => (float[4] y) {"
                "  zero = Constant<value_float=0.0>()  y = Div(x, zero)}"});
  EXPECT_EQ(ready.outcome.kind, results::Outcome::Kind::kWrongResult);
  EXPECT_THAT(ready.outcome.reason, testing::HasSubstr("output 'y'"));
}

}  // namespace
}  // namespace plumb::onednn
