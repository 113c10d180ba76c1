// SPDX-License-Identifier: Apache-2.0
// Steps of training that compute values again in place of keeping them, executed by oneDNN.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"
#include "runners/engine/exec/mode_graph.hpp"
#include "tests/unit/onednn/executed_steps.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::onednn {
namespace {

using rewrite::TrainingStep;

/// Network whose forward pass is a chain of equal stages.
model::Graph chain(std::int64_t batch) {
  rewrite::GraphSketch sketch;
  model::ValueId value = sketch.input({batch, 4, 8, 8});
  for (int i = 0; i < 6; ++i) {
    value = sketch.relu(sketch.batch_norm(sketch.conv(value, 4, 3)));
  }
  const model::ValueId flat = sketch.view(value, {batch, 4 * 8 * 8});
  return sketch.build({sketch.gemm(flat, 4)});
}

/// Steps of the chain: of one batch, and of micro-batches whose gradients are added up.
class CheckpointedSteps : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(MicroBatches, CheckpointedSteps, ::testing::Values(1, 4));

TEST_P(CheckpointedSteps, compute_the_same_where_values_are_computed_again) {
  const TrainingStep plain =
      rewrite::training_step(chain(16), rewrite::TrainingStep::Choice{{}, GetParam()});
  TrainingStep small = plain;
  auto checkpointed = rewrite::smallest_step(plain.training.graph);
  ASSERT_TRUE(checkpointed);
  ASSERT_GT(checkpointed->changes, 5U);
  small.training.graph = std::move(checkpointed->graph);
  const Values values = toy_values(plain);
  Steps keeping(plain, values);
  Steps repeating(small, values);
  EXPECT_LT(repeating.prepared().program->facts().workspace,
            keeping.prepared().program->facts().workspace);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(repeating.next(), keeping.next());
  }
  EXPECT_EQ(repeating.weights(), keeping.weights());
}

TEST_P(CheckpointedSteps, take_what_their_cap_allows) {
  const TrainingStep plain =
      rewrite::training_step(chain(16), rewrite::TrainingStep::Choice{{}, GetParam()});
  const model::Graph& graph = plain.training.graph;
  const auto total = [](const model::Graph& step) {
    return model::compute_memory(step).total().value;
  };
  const std::int64_t least = total(rewrite::smallest_step(graph)->graph);
  const worker::ModeRequest mode{results::ExecutionMode{.checkpointing = true}, {}};
  const auto backend = make_onednn_backend();
  const auto within = [&](std::int64_t cap) {
    return engine::graph_of_mode(graph, mode, *backend, Bytes{cap}).fused.graph;
  };
  TrainingStep half = plain;
  half.training.graph = within((least + total(graph)) / 2);
  EXPECT_GT(half.training.graph.layers.size(), graph.layers.size());
  EXPECT_LE(half.training.graph.layers.size(),
            engine::graph_of_mode(graph, mode, *backend).fused.graph.layers.size());
  const Values values = toy_values(plain);
  Steps keeping(plain, values);
  Steps repeating(half, values);
  EXPECT_LE(repeating.prepared().program->facts().workspace,
            keeping.prepared().program->facts().workspace);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(repeating.next(), keeping.next());
  }
  try {
    static_cast<void>(within(least - 1));
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(
        error.what(),
        testing::HasSubstr(fmt::format("{} bytes at least, and its cap is {}", least, least - 1)));
  }
}

}  // namespace
}  // namespace plumb::onednn
