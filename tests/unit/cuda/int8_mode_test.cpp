// SPDX-License-Identifier: Apache-2.0
// A whole model in 8-bit integers, planned for a GPU and executed on the host: quantised by the
// engine with scales from an execution in f32, then by the plan's layouts, buffers and kernels.
#include "runners/engine/exec/output_difference.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/reference_model.hpp"
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
  RequestedModel model(mixed_sample().request());
  ReadyModel ready = prepare_mode(backend, model, {execution_mode_from(GetParam()), {}, {}});
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;
  EXPECT_THAT(ready.prepared.variants, Contains(HasSubstr("layout=NHWC;")).Times(5))
      << "convolutions";
  EXPECT_THAT(ready.prepared.variants,
              Contains(AllOf(HasSubstr("operands=shifted"), HasSubstr("scales=apart"))));
  model.fill();
  make_ready(model, steady_clock(), ready);
  ASSERT_TRUE(ready.outcome.ok()) << ready.outcome.reason;

  const FusedGraph& lower = ready.plan.fused;
  std::vector<Tensor> operands;
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

  ReadyModel plain = prepare_mode(backend, model, {{}, {}, {}});
  ASSERT_TRUE(plain.outcome.ok()) << plain.outcome.reason;
  make_ready(model, steady_clock(), plain);
  const double difference = largest_difference(ready.outputs, plain.outputs);
  EXPECT_GT(difference, 1e-5);
  EXPECT_LT(difference, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Modes, Int8Mode, ::testing::Values("int8", "fusion+int8"));

}  // namespace
}  // namespace plumb::cuda
