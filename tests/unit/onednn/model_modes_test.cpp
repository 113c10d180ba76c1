// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "runners/engine/service/backend_service.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/layer_run.hpp"
#include "tests/unit/onednn/sample_model.hpp"

namespace plumb::onednn {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr results::ExecutionMode kFusion{.fusion = true};

/// A residual block with all that is folded and fused: BatchNorm, scale, shift, add, activation.
const Sample kBlock{
    "g (float[1,16,9,9] x) => (float[1,16,9,9] y) {"
    "  a = Conv<pads=[1,1,1,1]>(x, w1)  b = BatchNormalization(a, s, o, m, v)  c = Relu(b)"
    "  d = Conv<pads=[1,1,1,1]>(c, w2, b2)  e = BatchNormalization(d, s, o, m, v)"
    "  f = Mul(e, k)  h = Add(k, f)  i = Add(x, h)  y = LeakyRelu<alpha=0.2>(i)}",
    {{"w1", {16, 16, 3, 3}},
     {"w2", {16, 16, 3, 3}},
     {"b2", {16}},
     {"s", {16}},
     {"o", {16}},
     {"m", {16}},
     {"v", {16}},
     {"k", {1, 16, 1, 1}}}};

std::vector<results::Execution> executions(const worker::ExecuteRequest& request) {
  const auto backend = make_onednn_backend();
  engine::BackendService service(*backend);
  std::vector<results::Execution> result;
  service.execute(
      request,
      [&](results::Execution execution) { result.push_back(std::move(execution)); },
      [](const worker::ExecuteRequest::Progress&) {},
      [] {});
  return result;
}

TEST(ModelModes, fuses_a_residual_block_into_two_layers) {
  const engine::ReadyModel ready = expect_right(kBlock, {kFusion, {}});
  EXPECT_THAT(ready.plan.fused.graph.layers, SizeIs(2));
}

TEST(ModelModes, fuses_products_with_bias_and_activation) {
  const engine::ReadyModel ready =
      expect_right({"g (float[1,4,32] x) => (float[1,4,32] y) {"
                    "  a = MatMul(x, w1)  b = Add(b1, a)"
                    "  root = Constant<value_float=1.4142135>()  c = Div(b, root)  d = Erf(c)"
                    "  one = Constant<value_float=1.0>()  e = Add(d, one)  f = Mul(b, e)"
                    "  half = Constant<value_float=0.5>()  h = Mul(f, half)"
                    "  i = MatMul(h, w2)  j = Add(i, b2)  y = Add(j, x)}",
                    {{"w1", {32, 48}}, {"b1", {48}}, {"w2", {48, 32}}, {"b2", {32}}}},
                   {kFusion, {}});
  EXPECT_THAT(ready.plan.fused.graph.layers, SizeIs(2));
}

TEST(ModelModes, fuses_layer_norm_written_out) {
  const engine::ReadyModel ready = expect_right(
      {"g (float[1,6,40] x) => (float[1,6,40] y) {"
       "  m = ReduceMean<axes=[-1]>(x)  d = Sub(x, m)  two = Constant<value_float=2.0>()"
       "  q = Pow(d, two)  v = ReduceMean<axes=[-1]>(q)  e = Constant<value_float=0.00001>()"
       "  u = Add(v, e)  r = Sqrt(u)  n = Div(d, r)  s = Mul(n, w)  y = Add(s, b)}",
       {{"w", {40}}, {"b", {40}}}},
      {kFusion, {}});
  EXPECT_THAT(ready.plan.fused.graph.layers, SizeIs(1));
}

TEST(ModelModes, executes_the_steps_that_were_measured) {
  const engine::ReadyModel all = executed(kBlock, {kFusion, {}});
  const model::Layer& first = all.plan.fused.graph.layers.at(0);
  const auto backend = make_onednn_backend();
  const std::vector<worker::Variant> variants = backend->variants(first.key);
  ASSERT_GT(variants.size(), 1U);
  worker::ModeRequest request{{.best_variant = true, .fusion = true}, {}};
  request.steps = {{{0, 1, 2}, first.key, {{variants.back().text, Seconds(1.0)}}}};
  const engine::ReadyModel ready = expect_right(kBlock, request);
  EXPECT_THAT(ready.plan.fused.graph.layers, SizeIs(7));  // the second block stays as written
  EXPECT_EQ(ready.plan.variants.at(first.key), variants.back().text);
}

TEST(ModelModes, refuses_steps_of_another_model) {
  worker::ModeRequest request{{.best_variant = true},
                              {{{0, 1}, {"v1:another"}, {{"impl=x", Seconds(1.0)}}}}};
  EXPECT_THROW(static_cast<void>(executed(kBlock, request)), Error);
  const std::vector<results::Execution> result = executions(kBlock.request(request));
  ASSERT_THAT(result, SizeIs(1));
  EXPECT_THAT(result[0].row.outcome.reason, HasSubstr("v1:another"));
}

TEST(ModelModes, are_timed_in_turns_and_compared_with_the_first) {
  worker::ExecuteRequest request = kBlock.request();
  request.modes.push_back({kFusion, {}});
  const bool bf16 = has_bf16(*make_onednn_backend());
  if (bf16) {
    request.modes.push_back({{.bf16 = true, .fusion = true}, {}});
  }
  request.sampling.budget = Seconds(0.02);
  const std::vector<results::Execution> result = executions(request);
  ASSERT_THAT(result, SizeIs(bf16 ? 3 : 2));
  EXPECT_EQ(result[0].mode, "plain");
  EXPECT_EQ(result[1].mode, "fusion");
  for (const results::Execution& execution : result) {
    EXPECT_TRUE(execution.row.outcome.timed()) << execution.row.outcome.reason;
    EXPECT_GE(execution.row.samples.size(), 12U);  // three in each of four rounds
    EXPECT_EQ(execution.row.summary.n, execution.row.samples.size());
    EXPECT_GT(execution.memory.value, 0);
    Seconds inside{};
    Seconds in_context{};
    for (const results::Execution::Layer& layer : execution.layers) {
      inside += layer.seconds + layer.reorder;
      ASSERT_TRUE(layer.in_context) << layer.key.text;
      EXPECT_LE(layer.in_context->interval.low, layer.in_context->median);
      EXPECT_GE(layer.in_context->interval.high, layer.in_context->median);
      in_context += layer.in_context->median;
    }
    EXPECT_GT(inside, Seconds(0));
    EXPECT_GT(in_context, Seconds(0));
    ASSERT_TRUE(execution.in_context);
    EXPECT_NEAR(execution.in_context->median.count(), in_context.count(), 1e-12);
  }
  ASSERT_GE(result[1].layers.size(), 2U);
  EXPECT_EQ(result[1].layers[0].layers, (std::vector<model::LayerId>{0, 1, 2}));
  EXPECT_EQ(result[1].layers[1].layers, (std::vector<model::LayerId>{3, 4, 5, 6, 7, 8}));
  EXPECT_LT(result[0].row.maximum_error.value(), 1e-5) << "from the reference";
  EXPECT_LT(result[1].row.maximum_error.value(), 1e-5);
  if (bf16) {
    EXPECT_EQ(result[2].mode, "bf16+fusion");
    EXPECT_GT(result[2].row.maximum_error.value(), 1e-5);
    EXPECT_LT(result[2].row.maximum_error.value(), 0.1);
  }
}

TEST(ModelModes, one_that_fails_leaves_the_others_alone) {
  worker::ExecuteRequest request =
      kBlock.request({{.best_variant = true}, {{{0}, {"v1:x"}, {{"", Seconds(1.0)}}}}});
  request.modes.push_back({kFusion, {}});
  request.sampling.budget = Seconds(0.01);
  const std::vector<results::Execution> result = executions(request);
  ASSERT_THAT(result, SizeIs(2));
  EXPECT_FALSE(result[0].row.outcome.timed());
  EXPECT_TRUE(result[1].row.outcome.timed()) << result[1].row.outcome.reason;
}

TEST(ModelModes, a_model_that_cannot_be_read_fails_in_every_mode) {
  worker::ExecuteRequest request = kBlock.request();
  request.model = "no model";
  request.modes.push_back({kFusion, {}});
  const std::vector<results::Execution> result = executions(request);
  ASSERT_THAT(result, SizeIs(2));
  for (const results::Execution& execution : result) {
    EXPECT_THAT(execution.row.outcome.reason, HasSubstr("not an ONNX model"));
  }
}

}  // namespace
}  // namespace plumb::onednn
