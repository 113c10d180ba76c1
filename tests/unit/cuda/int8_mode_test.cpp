// SPDX-License-Identifier: Apache-2.0
// A whole model in 8-bit integers, planned for a GPU and executed on the host: quantised by the
// engine with scales from an execution in f32, then by the plan's layouts, buffers and kernels.
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "tests/support/sample_model.hpp"
#include "tests/unit/cuda/host_backend.hpp"
#include "tests/unit/cuda/host_plan.hpp"

namespace plumb::cuda {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class Int8Mode : public ::testing::TestWithParam<const char*> {};

TEST_P(Int8Mode, of_a_plan_computes_what_the_reference_makes_of_the_quantised_graph) {
  HostBackend backend;
  engine::RequestedModel model(mixed_sample().request());
  engine::ReadyModel ready =
      engine::prepare_mode(backend, model, {results::execution_mode_from(GetParam()), {}, {}});
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  EXPECT_THAT(ready.prepared.variants, Contains(HasSubstr("layout=NHWC;")).Times(5))
      << "convolutions";
  EXPECT_THAT(ready.prepared.variants,
              Contains(AllOf(HasSubstr("operands=shifted"), HasSubstr("scales=apart"))));
  model.fill();
  engine::make_ready(model, measure::steady_clock(), ready);
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;

  const rewrite::FusedGraph& lower = ready.plan.fused;
  std::vector<model::Tensor> operands;
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

  engine::ReadyModel plain = engine::prepare_mode(backend, model, {{}, {}, {}});
  ASSERT_TRUE(plain.outcome.ok()) << plain.outcome.reason;
  engine::make_ready(model, measure::steady_clock(), plain);
  const double difference = engine::largest_difference(ready.outputs, plain.outputs);
  EXPECT_GT(difference, 1e-5);
  EXPECT_LT(difference, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Modes, Int8Mode, ::testing::Values("int8", "fusion+int8"));

}  // namespace
}  // namespace plumb::cuda
