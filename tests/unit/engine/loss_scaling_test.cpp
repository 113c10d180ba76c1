// SPDX-License-Identifier: Apache-2.0
// Loss scales that adapt: the layer against sequences computed by hand, and steps whose gradients
// overflow, computed with the float64 reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/reference.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::engine {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Scale of a loss as it follows the gradients of steps.
struct FollowedScale {
  double scale = 0.0;
  double steps = 0.0;
  double applied = 0.0;

  auto operator<=>(const FollowedScale&) const = default;
};

/// Returns the scale after a step with two gradients.
FollowedScale follow(const FollowedScale& before, double gradient, const std::string& interval) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:loss_scale;in=f32[1],f32[1],f32[2],f32[1];out=f32[1],f32[1],f32[1];acc=f32;math=strict;"
       "backoff=0.5;growth=2.0;interval=" +
       interval});
  const std::vector<std::vector<double>> numbers{
      {before.scale}, {before.steps}, {1.0, gradient}, {-2.0}};
  std::vector<model::Tensor> operands;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    operands.push_back(tensor_from(spec.inputs.at(i).value(), numbers[i]));
  }
  const std::vector<model::Tensor> outputs = reference_outputs(spec, operands);
  return {number_at(outputs.at(0), 0), number_at(outputs.at(1), 0), number_at(outputs.at(2), 0)};
}

// What torch.amp.GradScaler does with growth_interval=3: PyTorch 2.15 gave the same sequence.
TEST(LossScale, doubles_after_finite_steps_and_halves_after_an_overflow) {
  const std::vector<std::pair<double, FollowedScale>> sequence{
      {3.0, {1024.0, 1.0, 1.0}},
      {0.0, {1024.0, 2.0, 1.0}},
      {kInfinite, {512.0, 0.0, 0.0}},  // before it would have grown
      {3.0, {512.0, 1.0, 1.0}},
      {-3.0, {512.0, 2.0, 1.0}},
      {3.0, {1024.0, 0.0, 1.0}},  // three in a row
      {kNoNumber, {512.0, 0.0, 0.0}},
      {-kInfinite, {256.0, 0.0, 0.0}},
      {3.0, {256.0, 1.0, 1.0}},
      {3.0, {256.0, 2.0, 1.0}},
      {3.0, {512.0, 0.0, 1.0}},
      {3.0, {512.0, 1.0, 1.0}},
  };
  FollowedScale scale{1024.0, 0.0, 0.0};
  for (std::size_t step = 0; step < sequence.size(); ++step) {
    scale = follow(scale, sequence[step].first, "3");
    EXPECT_EQ(scale, sequence[step].second) << "step " << step;
  }
}

TEST(LossScale, does_not_grow_past_the_numbers_of_f32) {
  EXPECT_EQ(follow({0x1p126, 0.0, 0.0}, 1.0, "1"), (FollowedScale{0x1p127, 0.0, 1.0}));
  EXPECT_EQ(follow({0x1p127, 0.0, 0.0}, 1.0, "1"), (FollowedScale{0x1p127, 0.0, 1.0}));
}

/// Executes steps of a graph with the float64 reference, one after the other.
class ReferenceSteps {
 public:
  explicit ReferenceSteps(const model::Graph& step)
      : step_(step), replaced_(model::shared_bytes(step)) {}

  void give(model::ValueId value, double number) {
    const model::TensorType& type = step_.values.at(value).type;
    const auto count = static_cast<std::size_t>(element_count(type));
    values_[value] = tensor_from(type, std::vector<double>(count, number));
  }

  void next() {
    std::map<model::ValueId, model::Tensor> values = values_;
    std::vector<model::Tensor> outputs;
    const results::Outcome outcome = reference_model_outputs(step_, values, outputs);
    ASSERT_TRUE(outcome.ok()) << outcome.reason;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      values_[replaced_[step_.outputs[i]]] = outputs[i];
    }
  }

  [[nodiscard]] std::vector<double> numbers(model::ValueId value) const {
    return read_numbers(values_.at(replaced_.at(value)));
  }

 private:
  const model::Graph& step_;
  std::vector<model::ValueId> replaced_;  ///< by value: the input in whose place it is written
  std::map<model::ValueId, model::Tensor> values_;
};

// Results of 24 and targets of 0: the loss's gradient is 6, and that of each weight 4 · 8 · 6 =
// 192. In f16, 192 · 256 is the largest of these that is finite.
TEST(LossScaling, leaves_out_steps_until_the_gradients_are_finite) {
  rewrite::GraphSketch sketch;
  const auto x = sketch.input({4, 3});
  const model::Graph graph = sketch.build({sketch.gemm(x, 2)});
  rewrite::TrainingStep::Choice choice;
  choice.optimizer = rewrite::standard_optimizer(rewrite::TrainingStep::Optimizer::Kind::kAdam);
  choice.loss = rewrite::Loss::kMeanSquaredError;
  choice.loss_scaling = true;
  const rewrite::TrainingStep step = rewrite::training_step(graph, choice);
  const model::ValueId weights = step.training.gradients.at(0).parameter;
  const model::ValueId scale = step.training.loss_scale.value();
  const std::vector<std::pair<std::string, int>> overflows{{"f32", 0}, {"bf16", 0}, {"f16", 8}};
  for (const auto& [type, left_out] : overflows) {
    SCOPED_TRACE(type);
    const model::Graph typed = rewrite::typed_graph(step.training.graph, type);
    ReferenceSteps steps(typed);
    for (const model::ValueId input : typed.inputs) {
      steps.give(input, 0.0);
    }
    steps.give(x, 8.0);
    steps.give(weights, 1.0);
    steps.give(scale, rewrite::kFirstLossScale);
    double expected = rewrite::kFirstLossScale;
    for (int i = 0; i < left_out; ++i) {
      steps.next();
      expected /= 2.0;
      EXPECT_THAT(steps.numbers(weights), testing::Each(1.0));
      EXPECT_THAT(steps.numbers(scale), testing::ElementsAre(expected));
      for (const model::ValueId state : step.states) {
        EXPECT_THAT(steps.numbers(state), testing::Each(0.0));
      }
    }
    steps.next();
    EXPECT_THAT(steps.numbers(scale), testing::ElementsAre(expected));
    // Adam's first step is as long as its rate: the steps that were left out do not count.
    EXPECT_THAT(steps.numbers(weights), testing::Each(testing::DoubleNear(0.999, 1e-6)));
  }
}

}  // namespace
}  // namespace plumb::engine
