// SPDX-License-Identifier: Apache-2.0
// Steps of training with a loss scale that adapts, by the CUDA backend over the stand-in: what a
// step does after an overflow is decided on the device, in captured graphs, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "harness/rewrite/gradient/training_step.hpp"
#include "runners/engine/exec/mode_graph.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/unit/cuda_driver/stand_in_backend.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {

void PrintTo(TrainingStep::Optimizer::Kind kind, std::ostream* out) {
  *out << to_text(kind);
}

}  // namespace plumb::rewrite

namespace plumb::worker {

void PrintTo(Backend::LaunchMode mode, std::ostream* out) {
  *out << to_text(mode);
}

}  // namespace plumb::worker

namespace plumb::stand_in {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Optimiser, how the device gets the step, and whether updates are fused.
using ScaledCase =
    std::tuple<rewrite::TrainingStep::Optimizer::Kind, worker::Backend::LaunchMode, bool>;

/// Steps of one product with a bias, whose loss is scaled. Results are 24 and targets 0, so the
/// gradient of each weight is 4 · 8 · 6 = 192, and 2^120 the largest scale with which it is finite.
class ScaledStep {
 public:
  explicit ScaledStep(const ScaledCase& scaled) {
    const auto& [kind, launches, fusion] = scaled;
    rewrite::GraphSketch sketch;
    const model::ValueId x = sketch.input({4, 3});
    rewrite::TrainingStep::Choice choice;
    choice.optimizer = {.kind = kind, .rate = 0.001};
    choice.loss = rewrite::Loss::kMeanSquaredError;
    choice.loss_scaling = true;
    step_ = rewrite::training_step(sketch.build({sketch.gemm(x, 2)}), choice);
    model::Graph graph = step_.training.graph;
    if (fusion) {
      graph =
          engine::graph_of_mode(graph, {results::ExecutionMode{.fusion = true}, {}}, backend_.get())
              .fused.graph;
    }
    prepared_ = backend_.get().prepare_model(graph, {.variants = {}, .launches = launches});
    if (!prepared_.outcome.ok()) {
      ADD_FAILURE() << prepared_.outcome.reason;
      return;
    }
    std::vector<model::Tensor> operands;
    for (const model::ValueId id : prepared_.operands) {
      const model::TensorType& type = graph.values.at(id).type;
      const double number = id == x                            ? 8.0
                            : id == weights()                  ? 1.0
                            : id == *step_.training.loss_scale ? 0x1p127
                                                               : 0.0;
      operands.push_back(engine::tensor_from(
          type, std::vector<double>(static_cast<std::size_t>(element_count(type)), number)));
    }
    prepared_.program->bind(0, operands, false);
  }

  [[nodiscard]] bool ready() const { return prepared_.outcome.ok(); }
  [[nodiscard]] std::string implementation() const {
    return prepared_.program->facts().implementation;
  }

  /// Executes one step.
  void next() {
    prepared_.program->enqueue(0);
    prepared_.program->synchronize();
    outputs_ = prepared_.program->outputs(0);
  }

  [[nodiscard]] double loss() const { return engine::number_at(outputs_.at(0), 0); }
  /// Returns the new weights of the matrix.
  [[nodiscard]] std::vector<double> matrix() const { return engine::read_numbers(outputs_.at(1)); }
  /// Returns the new bias and the optimiser's new states.
  [[nodiscard]] std::vector<double> others() const {
    std::vector<double> numbers;
    for (std::size_t i = 2; i + 2 < outputs_.size(); ++i) {
      const std::vector<double> more = engine::read_numbers(outputs_[i]);
      numbers.insert(numbers.end(), more.begin(), more.end());
    }
    return numbers;
  }
  [[nodiscard]] double loss_scale() const {
    return engine::number_at(outputs_.at(outputs_.size() - 2), 0);
  }
  /// Returns for how many steps the scale has been the same.
  [[nodiscard]] double steps_of_scale() const { return engine::number_at(outputs_.back(), 0); }

 private:
  [[nodiscard]] model::ValueId weights() const {
    return step_.training.gradients.front().parameter;
  }

  StandInBackend backend_;
  rewrite::TrainingStep step_;
  worker::Backend::PreparedModel prepared_;
  std::vector<model::Tensor> outputs_;
};

class ScaledSteps : public ::testing::TestWithParam<ScaledCase> {};

TEST_P(ScaledSteps, leave_out_updates_until_the_gradients_are_finite) {
  control().reset(1);
  control().set_duration(Duration::kKernel, 2'000'000);
  {
    ScaledStep step(GetParam());
    ASSERT_TRUE(step.ready());
    EXPECT_THAT(step.implementation(),
                HasSubstr("execution=" + std::string(to_text(std::get<1>(GetParam())))));
    double scale = 0x1p127;
    for (int left_out = 0; left_out < 7; ++left_out) {
      step.next();
      scale /= 2.0;
      EXPECT_EQ(step.loss(), 576.0);
      EXPECT_EQ(step.loss_scale(), scale);
      EXPECT_EQ(step.steps_of_scale(), 0.0);
      EXPECT_THAT(step.matrix(), Each(1.0)) << "overflow " << left_out;
      EXPECT_THAT(step.others(), Each(0.0)) << "overflow " << left_out;
    }
    const bool descends = std::get<0>(GetParam()) == rewrite::TrainingStep::Optimizer::Kind::kSgd;
    const double moved = descends ? 1.0 - 0.192 : 1.0 - 0.001;  // others move by their rate first
    step.next();
    EXPECT_EQ(step.loss_scale(), 0x1p120);
    EXPECT_EQ(step.steps_of_scale(), 1.0);
    EXPECT_THAT(step.matrix(), Each(::testing::DoubleNear(moved, 1e-5)));
    step.next();
    EXPECT_LT(step.loss(), 576.0);
    EXPECT_EQ(step.steps_of_scale(), 2.0);
  }
  EXPECT_THAT(control().findings(), IsEmpty());
  EXPECT_EQ(control().living(), Living{});
}

std::string name_of_scaled(const ::testing::TestParamInfo<ScaledCase>& info) {
  const auto& [kind, launches, fusion] = info.param;
  return std::string(to_text(kind)) + "_" + std::string(to_text(launches)) +
         (fusion ? "_fused" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Rules,
    ScaledSteps,
    ::testing::Combine(::testing::Values(rewrite::TrainingStep::Optimizer::Kind::kSgd,
                                         rewrite::TrainingStep::Optimizer::Kind::kAdamw,
                                         rewrite::TrainingStep::Optimizer::Kind::kLamb),
                       ::testing::Values(worker::Backend::LaunchMode::kEager,
                                         worker::Backend::LaunchMode::kCaptured,
                                         worker::Backend::LaunchMode::kStreams),
                       ::testing::Bool()),
    name_of_scaled);

}  // namespace
}  // namespace plumb::stand_in
