// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/checkpointed_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

model::Graph step_of(const model::Graph& graph) {
  return training_step(graph, {}, standard_optimizer(TrainingStep::Optimizer::Kind::kSgd))
      .training.graph;
}

/// Products and ReLUs, one after the other, as wide as the input.
model::Graph chain_of(int products) {
  GraphSketch sketch;
  model::ValueId value = sketch.input({64, 32});
  for (int i = 0; i < products; ++i) {
    value = sketch.relu(sketch.gemm(value, 32));
  }
  return sketch.build({value});
}

/// Checks that every layer comes after those that make its operands.
void expect_in_order(const model::Graph& graph) {
  std::set<model::ValueId> made;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    for (const std::optional<model::ValueId>& input : graph.layers[id].inputs) {
      if (input && graph.values[*input].producer) {
        ASSERT_TRUE(made.contains(*input))
            << graph.layers[id].name << " reads " << graph.values[*input].name;
      }
    }
    for (const model::ValueId output : graph.layers[id].outputs) {
      ASSERT_EQ(graph.values[output].producer, id);
      made.insert(output);
    }
  }
}

TEST(CheckpointedGraph, chain_is_cut_after_every_value_of_one_path_that_a_gradient_reads) {
  const model::Graph step = step_of(chain_of(3));
  const std::vector<CheckpointPlan::Chain> chains = chains_of_step(step, rough_costs(step));
  ASSERT_THAT(chains, SizeIs(1));
  const CheckpointPlan::Chain& chain = chains.front();
  // Three products with their ReLUs, and the loss.
  ASSERT_THAT(chain.stages, SizeIs(testing::Ge(4U)));
  for (std::size_t stage = 0; stage < 3; ++stage) {
    EXPECT_THAT(chain.layers[stage], SizeIs(2));
    EXPECT_EQ(chain.stages[stage].result, 64 * 32 * 4);
    EXPECT_EQ(chain.stages[stage].inner, 0);
    EXPECT_EQ(chain.stages[stage].recompute_last, 0.0);
  }
  EXPECT_EQ(chain.results.back(), step.outputs[0]);
}

TEST(CheckpointedGraph, a_loss_of_two_parts_belongs_to_one_micro_batch) {
  for (const std::string& loss : loss_names()) {
    TrainingStep::Choice choice;
    choice.loss = parse_loss(loss);
    choice.micro_batches = 3;
    const model::Graph step = training_step(chain_of(2), choice).training.graph;
    EXPECT_THAT(chains_of_step(step, rough_costs(step)), SizeIs(3)) << loss;
  }
}

TEST(CheckpointedGraph, branches_belong_to_one_stage_with_what_they_keep) {
  GraphSketch sketch;
  const model::ValueId x = sketch.relu(sketch.gemm(sketch.input({8, 16}), 16));
  const model::ValueId branch = sketch.relu(sketch.gemm(x, 16));
  const model::ValueId sum = sketch.add(x, sketch.gemm(branch, 16));
  const model::Graph step = step_of(sketch.build({sum}));
  const CheckpointPlan::Chain chain = chains_of_step(step, rough_costs(step)).at(0);
  const std::vector<model::LayerId> block{2, 3, 4, 5, 6};  // and the softmax of the loss
  EXPECT_THAT(chain.layers, testing::Contains(block));
  const auto at = std::find(chain.layers.begin(), chain.layers.end(), block);
  const CheckpointPlan::Stage& stage =
      chain.stages[static_cast<std::size_t>(at - chain.layers.begin())];
  // The gradients of the ReLU and of the second product read the ReLU's result.
  EXPECT_EQ(stage.inner, 8 * 16 * 4);
  EXPECT_GT(stage.recompute_last, 0.0);
  EXPECT_LT(stage.recompute_last, stage.recompute);
}

TEST(CheckpointedGraph, keeps_what_the_step_computes_and_repeats_what_is_dropped) {
  const model::Graph step = step_of(chain_of(12));
  const auto small = smallest_step(step);
  ASSERT_TRUE(small);
  expect_in_order(small->graph);
  EXPECT_EQ(small->graph.outputs, step.outputs);
  EXPECT_EQ(small->graph.inputs, step.inputs);
  EXPECT_EQ(small->graph.layers.size(), step.layers.size() + small->changes);
  EXPECT_GT(small->changes, 4U);
  EXPECT_LE(small->changes, 24U);
  for (model::LayerId id = 0; id < small->origins.size(); ++id) {
    EXPECT_EQ(small->graph.layers[id].key, step.layers.at(small->origins[id]).key);
  }
  EXPECT_LT(10 * model::compute_memory(small->graph).peak.value,
            7 * model::compute_memory(step).peak.value);
}

TEST(CheckpointedGraph, keeps_what_fits_below_a_cap) {
  const model::Graph step = step_of(chain_of(12));
  const TrainingStep::Rewritten small = smallest_step(step).value();
  const Bytes least = model::compute_memory(small.graph).total();
  const Bytes all = model::compute_memory(step).total();
  ASSERT_LT(least, all);
  std::size_t repeated = small.changes;
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const Bytes cap{least.value + quarter * (all.value - least.value) / 4};
    const auto made = step_within(step, cap);
    ASSERT_TRUE(made) << quarter;
    expect_in_order(made->graph);
    EXPECT_EQ(made->graph.outputs, step.outputs);
    EXPECT_LE(model::compute_memory(made->graph).total(), cap);
    EXPECT_LE(made->changes, repeated);
    repeated = made->changes;
  }
  EXPECT_EQ(repeated, 0U);
  const auto half = step_within(step, Bytes{(least.value + all.value) / 2});
  EXPECT_GT(half->changes, 0U);
  EXPECT_LT(half->changes, small.changes);
  EXPECT_FALSE(step_within(step, Bytes{least.value - 1}));
  EXPECT_FALSE(step_within(chain_of(2), all)) << "no step of training";
}

TEST(CheckpointedGraph, cuts_each_micro_batch_alike_and_needs_the_memory_of_one) {
  const TrainingStep alone = training_step(chain_of(12), TrainingStep::Choice{});
  const TrainingStep three = training_step(chain_of(12), TrainingStep::Choice{{}, 3});
  const model::Graph& step = three.training.graph;
  const std::vector<CheckpointPlan::Chain> chains = chains_of_step(step, rough_costs(step));
  ASSERT_THAT(chains, SizeIs(3));
  for (const CheckpointPlan::Chain& chain : chains) {
    EXPECT_EQ(chain.stages.size(), chains[0].stages.size());
    EXPECT_EQ(smallest_checkpoints(chain.stages).peak, smallest_checkpoints(chains[0].stages).peak);
  }
  const auto small = smallest_step(step);
  ASSERT_TRUE(small);
  expect_in_order(small->graph);
  EXPECT_EQ(small->changes, 3 * smallest_step(alone.training.graph)->changes);
  EXPECT_LT(10 * model::compute_memory(small->graph).peak.value,
            8 * model::compute_memory(step).peak.value);
}

TEST(CheckpointedGraph, plan_that_keeps_all_changes_nothing) {
  const model::Graph step = step_of(chain_of(3));
  const std::vector<CheckpointPlan::Chain> chains = chains_of_step(step, rough_costs(step));
  const CheckpointPlan all = checkpoint_front(chains.at(0).stages, 4).back();
  const TrainingStep::Rewritten same = checkpointed_graph(step, chains, std::span(&all, 1));
  EXPECT_EQ(same.changes, 0U);
  EXPECT_EQ(same.graph.layers.size(), step.layers.size());
  EXPECT_EQ(same.graph.values.size(), step.values.size());
}

TEST(CheckpointedGraph, a_model_without_updates_has_none) {
  EXPECT_FALSE(smallest_step(chain_of(2)));
}

TEST(CheckpointedGraph, steps_of_the_zoo_need_less_memory) {
  for (const char* const model : {"resnet18-v1", "vgg16", "mobilenet-v2", "densenet121"}) {
    const model::Graph step = step_of(model::read_graph(zoo::find(model)->build(4)));
    const auto small = smallest_step(step);
    ASSERT_TRUE(small) << model;
    expect_in_order(small->graph);
    EXPECT_LT(model::compute_memory(small->graph).peak, model::compute_memory(step).peak) << model;
    EXPECT_EQ(model::compute_memory(small->graph).inputs, model::compute_memory(step).inputs)
        << model;
  }
}

}  // namespace
}  // namespace plumb::rewrite
