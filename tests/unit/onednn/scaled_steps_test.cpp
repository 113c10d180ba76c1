// SPDX-License-Identifier: Apache-2.0
// Steps of training with a loss scale that adapts, executed by oneDNN.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runners/engine/exec/mode_graph.hpp"
#include "tests/unit/onednn/executed_steps.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::onednn {
namespace {

using rewrite::TrainingStep;

/// Returns a step whose loss is scaled.
TrainingStep scaled_step(const model::Graph& graph,
                         rewrite::TrainingStep::Optimizer::Kind kind,
                         rewrite::Loss loss) {
  rewrite::TrainingStep::Choice choice;
  choice.optimizer = {.kind = kind, .rate = 0.001};
  choice.loss = loss;
  choice.loss_scaling = true;
  return rewrite::training_step(graph, choice);
}

TEST(ScaledSteps, compute_the_same_with_a_scaled_loss) {
  const TrainingStep scaled = scaled_step(
      toy(), rewrite::TrainingStep::Optimizer::Kind::kSgd, rewrite::Loss::kCrossEntropy);
  const TrainingStep plain = rewrite::training_step(toy(), {}, {});
  std::map<std::string, model::Tensor> by_name;
  for (const auto& [id, tensor] : toy_values(plain)) {
    by_name[plain.training.graph.values[id].name] = tensor;
  }
  Values values = toy_values(scaled);
  for (auto& [id, tensor] : values) {
    const auto same = by_name.find(scaled.training.graph.values[id].name);
    tensor = same != by_name.end() ? same->second : tensor;
  }
  Steps with(scaled, values);
  Steps without(plain, toy_values(plain));
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(with.next(), without.next(), 1e-5);
    EXPECT_EQ(with.loss_scale(), rewrite::kFirstLossScale);
  }
  const auto expected = without.weights();
  for (const auto& [weight, numbers] : with.weights()) {
    EXPECT_LE(distance(numbers, expected.at(weight)), 1e-5) << weight;
  }
}

// Results of 24 and targets of 0: the gradient of each weight is 4 · 8 · 6 = 192. So 2^120 is the
// largest scale with which they are finite.
TEST(ScaledSteps, leave_out_updates_until_the_gradients_are_finite) {
  rewrite::GraphSketch sketch;
  const auto x = sketch.input({4, 3});
  const model::Graph graph = sketch.build({sketch.gemm(x, 2)});
  const std::map<rewrite::TrainingStep::Optimizer::Kind, double> expected{
      {rewrite::TrainingStep::Optimizer::Kind::kSgd, 1.0 - 0.192},
      {rewrite::TrainingStep::Optimizer::Kind::kAdam, 1.0 - 0.001}};
  for (const auto& [kind, moved] : expected) {
    const TrainingStep plain = scaled_step(graph, kind, rewrite::Loss::kMeanSquaredError);
    TrainingStep fused = plain;
    fused.training.graph = engine::graph_of_mode(plain.training.graph,
                                                 {results::ExecutionMode{.fusion = true}, {}},
                                                 *make_onednn_backend())
                               .fused.graph;
    // Both tensors in one layer. The scale and its steps are updated in another.
    EXPECT_EQ(layers_of(fused.training.graph, "sgd").size() +
                  layers_of(fused.training.graph, "adam").size(),
              2U);
    Values values;
    const model::ValueId weights = plain.training.gradients.at(0).parameter;
    for (const model::ValueId input : plain.training.graph.inputs) {
      const model::TensorType& type = plain.training.graph.values[input].type;
      const double number = input == x                            ? 8.0
                            : input == weights                    ? 1.0
                            : input == *plain.training.loss_scale ? 0x1p127
                                                                  : 0.0;
      values[input] = engine::tensor_from(
          type, std::vector<double>(static_cast<std::size_t>(element_count(type)), number));
    }
    for (const TrainingStep* const step : std::array{&plain, &std::as_const(fused)}) {
      SCOPED_TRACE(std::string(to_text(kind)) + (step == &fused ? ", fused" : ""));
      const std::string name = plain.training.graph.values[weights].name;
      Steps steps(*step, values);
      double scale = 0x1p127;
      for (int i = 0; i < 7; ++i) {
        EXPECT_FLOAT_EQ(static_cast<float>(steps.next()), 576.0F);
        scale /= 2.0;
        EXPECT_EQ(steps.loss_scale(), scale);
        EXPECT_THAT(steps.weights().at(name), testing::Each(1.0));
      }
      steps.next();
      EXPECT_EQ(steps.loss_scale(), 0x1p120);
      EXPECT_THAT(steps.weights().at(name), testing::Each(testing::DoubleNear(moved, 1e-5)));
    }
  }
}

}  // namespace
}  // namespace plumb::onednn
