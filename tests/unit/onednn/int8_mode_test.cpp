// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/rewrite/quantized_graph.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/onednn/layers/integer_operands.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/sample_model.hpp"

namespace plumb::onednn {
namespace {

constexpr results::ExecutionMode kInteger{.fusion = true, .int8 = true};

const Sample kMixed = mixed_sample();

class Int8Mode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_exact_integer_products()) {
      GTEST_SKIP() << "this CPU has no exact products of 8-bit integers";
    }
  }
};

TEST_F(Int8Mode, computes_what_the_reference_makes_of_the_quantised_graph) {
  const auto backend = make_onednn_backend();
  engine::RequestedModel model(kMixed.request());
  engine::ReadyModel ready = engine::prepare_mode(*backend, model, {kInteger, {}, {}});
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  model.fill();
  engine::make_ready(model, measure::steady_clock(), ready);
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  std::vector<model::Tensor> operands;
  const rewrite::FusedGraph& lower = ready.plan.fused;
  ASSERT_TRUE(model.operands(lower, ready.prepared.operands, operands, ready.magnitudes).ok());
  std::map<model::ValueId, model::Tensor> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values[ready.prepared.operands[i]] = operands[i];
  }
  std::vector<model::Tensor> expected;
  const results::Outcome computed = engine::reference_model_outputs(lower.graph, values, expected);
  ASSERT_TRUE(computed.ok()) << computed.reason;
  // Only what lay in the middle between two integers may be rounded the other way.
  EXPECT_LT(engine::largest_difference(ready.outputs, expected), 0.01);
}

TEST_F(Int8Mode, is_near_the_model_in_f32) {
  const engine::ReadyModel plain = executed(kMixed);
  const engine::ReadyModel lower = executed(kMixed, {kInteger, {}, {}});
  ASSERT_TRUE(lower.outcome.ok()) << lower.outcome.reason;
  const double difference = engine::largest_difference(lower.outputs, plain.outputs);
  EXPECT_GT(difference, 1e-5);
  EXPECT_LT(difference, 0.05);
}

TEST_F(Int8Mode, quantises_without_fusion_too) {
  const engine::ReadyModel lower = executed(kMixed, {{.int8 = true}, {}, {}});
  ASSERT_TRUE(lower.outcome.ok()) << lower.outcome.reason;
  EXPECT_LT(engine::largest_difference(lower.outputs, executed(kMixed).outputs), 0.05);
}

}  // namespace
}  // namespace plumb::onednn
