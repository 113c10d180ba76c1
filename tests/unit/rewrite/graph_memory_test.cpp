// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

constexpr std::int64_t kFloat = 4;

TEST(GraphMemory, results_live_from_their_layer_to_their_last_reader) {
  GraphSketch sketch;
  const model::ValueId x = sketch.input({100});
  const model::ValueId a = sketch.relu(x);
  const model::ValueId b = sketch.relu(a);
  const model::ValueId c = sketch.sigmoid(b);
  const model::Graph::Memory memory = model::compute_memory(sketch.build({sketch.add(a, c)}));
  EXPECT_EQ(memory.inputs.value, 100 * kFloat);
  EXPECT_EQ(memory.constants.value, 0);
  EXPECT_EQ(memory.peak.value, 3 * 100 * kFloat);  // a, b and c; then a, c and the sum
}

TEST(GraphMemory, a_view_has_no_bytes_of_its_own_and_keeps_those_of_its_operand) {
  GraphSketch sketch;
  const model::ValueId a = sketch.relu(sketch.input({10, 10}));
  const model::ValueId viewed = sketch.view(a, {100});
  const model::ValueId b = sketch.relu(sketch.relu(viewed));
  const model::Graph::Memory memory = model::compute_memory(sketch.build({sketch.add(viewed, b)}));
  EXPECT_EQ(memory.peak.value, 3 * 100 * kFloat);
}

TEST(GraphMemory, updates_write_over_weights_and_states_which_are_inputs) {
  GraphSketch sketch;
  const model::Graph model = sketch.build({sketch.gemm(sketch.input({2, 4}), 3)});
  const model::Graph::Memory inference = model::compute_memory(model);
  EXPECT_EQ(inference.constants.value, (12 + 3) * kFloat);
  const model::Graph step =
      training_step(model, {}, standard_optimizer(TrainingStep::Optimizer::Kind::kSgd))
          .training.graph;
  const model::Graph::Memory training = model::compute_memory(step);
  // Image, target, and weights with their momentum.
  EXPECT_EQ(training.inputs.value, (8 + 6 + 2 * 15) * kFloat);
  EXPECT_LT(training.peak.value, (15 + 8 * 6) * kFloat);
}

}  // namespace
}  // namespace plumb::rewrite
