// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/rewrite/quantized_graph.hpp"
#include "runners/engine/exec/output_difference.hpp"
#include "runners/engine/exec/reference_model.hpp"
#include "runners/onednn/layers/integer_operands.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/sample_model.hpp"

namespace plumb::onednn {
namespace {

constexpr ExecutionMode kInteger{.fusion = true, .int8 = true};

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
  RequestedModel model(kMixed.request());
  ReadyModel ready = prepare_mode(*backend, model, {kInteger, {}, {}});
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  model.fill();
  make_ready(model, steady_clock(), ready);
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  std::vector<Tensor> operands;
  const FusedGraph& lower = ready.plan.fused;
  ASSERT_TRUE(model.operands(lower, ready.prepared.operands, operands, ready.magnitudes).ok());
  std::map<ValueId, Tensor> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values[ready.prepared.operands[i]] = operands[i];
  }
  std::vector<Tensor> expected;
  const Outcome computed = reference_model_outputs(lower.graph, values, expected);
  ASSERT_TRUE(computed.ok()) << computed.reason;
  // Only what lay in the middle between two integers may be rounded the other way.
  EXPECT_LT(largest_difference(ready.outputs, expected), 0.01);
}

TEST_F(Int8Mode, is_near_the_model_in_f32) {
  const ReadyModel plain = executed(kMixed);
  const ReadyModel lower = executed(kMixed, {kInteger, {}, {}});
  ASSERT_TRUE(lower.outcome.ok()) << lower.outcome.reason;
  const double difference = largest_difference(lower.outputs, plain.outputs);
  EXPECT_GT(difference, 1e-5);
  EXPECT_LT(difference, 0.05);
}

TEST_F(Int8Mode, quantises_without_fusion_too) {
  const ReadyModel lower = executed(kMixed, {{.int8 = true}, {}, {}});
  ASSERT_TRUE(lower.outcome.ok()) << lower.outcome.reason;
  EXPECT_LT(largest_difference(lower.outputs, executed(kMixed).outputs), 0.05);
}

}  // namespace
}  // namespace plumb::onednn
