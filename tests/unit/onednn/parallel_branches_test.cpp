// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runners/engine/profile/model_profile.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/onednn/exec/machine.hpp"
#include "runners/onednn/exec/model_planner.hpp"
#include "runners/onednn/exec/plan_program.hpp"
#include "tests/unit/onednn/sample_model.hpp"

namespace plumb::onednn {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// Two blocks of Inception's kind, small: four branches each, joined.
const Sample kInception{
    "g (float[1,8,14,14] x) => (float[1,32,14,14] y) {"
    "  a1 = Conv(x, w1)  a = Relu(a1)"
    "  b1 = Conv(x, w1)  b2 = Relu(b1)  b = Conv<pads=[1,1,1,1]>(b2, w3)"
    "  c1 = Conv(x, w1)  c2 = Sigmoid(c1)  c3 = Transpose<perm=[0,1,3,2]>(c2)  c = Conv(c3, w1)"
    "  d1 = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)  d = Conv(d1, w1)"
    "  j = Concat<axis=1>(a, b, c, d)"
    "  e = Conv(j, v1)  f1 = Conv<pads=[1,1,1,1]>(j, v3)  f = Add(f1, e)"
    "  h = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(j)  i = Conv(h, v1)"
    "  k = Erf(i)  y = Concat<axis=1>(e, f, i, k)}",
    {{"w1", {8, 8, 1, 1}}, {"w3", {8, 8, 3, 3}}, {"v1", {8, 32, 1, 1}}, {"v3", {8, 32, 3, 3}}}};

worker::ModeRequest in_parallel() {
  return {{.parallel_branches = true}, {}};
}

TEST(ParallelBranches, give_the_same_bits_whatever_the_lanes_wait_for) {
  const Device device{dnnl::engine(dnnl::engine::kind::cpu, 0)};
  const engine::ReadyModel plain = executed(kInception);
  ASSERT_TRUE(plain.outcome.ok()) << plain.outcome.reason;
  const model::Graph& graph = plain.plan.fused.graph;
  engine::RequestedModel model(kInception.request());
  model.fill();
  model::LayerSpec interface;
  for (const model::ValueId input : graph.inputs) {
    interface.inputs.emplace_back(graph.values[input].type);
  }
  for (const model::ValueId output : graph.outputs) {
    interface.outputs.push_back(graph.values[output].type);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    LayerParts parts = make_layer_parts(device);
    ModelPlan plan = plan_model(graph, {}, device, parts, 2 + seed % 2);
    ASSERT_THAT(plan.plan.schedule.lanes, SizeIs(2 + seed % 2));
    ASSERT_FALSE(plan.plan.schedule.lanes[1].empty());
    std::vector<model::Tensor> operands;
    ASSERT_TRUE(model.operands(plain.plan.fused, plan.operands, operands).ok());
    const engine::RandomStream random(seed);
    std::atomic<std::uint64_t> at{0};
    PlanProgram program(device, interface, std::move(plan.plan), seed, [&](std::size_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(at++, 300)));
    });
    program.bind(0, operands, false);
    for (int repetition = 0; repetition < 3; ++repetition) {
      program.enqueue(0);
      program.synchronize();
      const std::vector<model::Tensor> outputs = program.outputs(0);
      ASSERT_EQ(outputs.size(), plain.outputs.size());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        ASSERT_EQ(outputs[i].data, plain.outputs[i].data) << "seed " << seed << ", output " << i;
      }
    }
  }
}

TEST(ParallelBranches, are_a_mode_that_computes_the_same) {
  const OpenmpThreads threads(2);
  const engine::ReadyModel ready = expect_right(kInception, in_parallel());
  EXPECT_EQ(ready.prepared.needs.size(), ready.prepared.steps.size());
  engine::ModelProfile profile(ready);
  profile.add(1, 3, Seconds(10.0), measure::steady_clock());
  const std::optional<measure::MeasuredTime> side_by_side = profile.in_context(Seconds(0));
  ASSERT_TRUE(side_by_side);
  Seconds one_by_one{};
  for (const results::Execution::Layer& layer : profile.layers(Seconds(0))) {
    ASSERT_TRUE(layer.in_context);
    one_by_one += layer.in_context->median;
    EXPECT_GE(side_by_side->median, layer.in_context->median);
  }
  EXPECT_GT(one_by_one, side_by_side->median);
  static_cast<void>(expect_right(kInception, {{.fusion = true, .parallel_branches = true}, {}}));
}

TEST(ParallelBranches, are_refused_for_one_thread_or_one_path) {
  {
    const OpenmpThreads threads(1);
    const engine::ReadyModel ready = executed(kInception, in_parallel());
    EXPECT_EQ(ready.outcome.kind, results::Outcome::Kind::kUnsupported);
    EXPECT_THAT(ready.outcome.reason, HasSubstr("one thread"));
  }
  const OpenmpThreads threads(2);
  const engine::ReadyModel ready = executed({"g (float[4,8] x) => (float[4,6] y) {"
                                             "  a = MatMul(x, w)  y = Relu(a)}",
                                             {{"w", {8, 6}}}},
                                            in_parallel());
  EXPECT_EQ(ready.outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_THAT(ready.outcome.reason, HasSubstr("no branches"));
}

}  // namespace
}  // namespace plumb::onednn
