// SPDX-License-Identifier: Apache-2.0
// Batch normalisations in a step of training, computed with the float64 reference: running
// statistics, frozen ones inside the convolutions before them, and those that are fused.
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/rewrite/fused_graph.hpp"
#include "harness/rewrite/gradient/folded_norms.hpp"
#include "harness/rewrite/gradient/training_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/unit/engine/computed_graph.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"
#include "tests/unit/rewrite/training_example.hpp"

namespace plumb::engine {
namespace {

TEST(RunningStatistics, follow_those_of_the_batch_by_a_tenth) {
  rewrite::GraphSketch sketch;
  const auto x = sketch.input({4, 3, 2, 2});
  const model::Graph graph =
      rewrite::with_precision(sketch.build({sketch.batch_norm(x)}), model::DataType::kF64);
  const rewrite::TrainingStep step = rewrite::training_step(
      graph, {.loss = rewrite::Loss::kMeanSquaredError, .running_statistics = true}, {});
  const model::Graph& whole = step.training.graph;
  const rewrite::Numbers numbers = some_numbers(whole);
  const std::vector<std::vector<double>> outputs = compute_graph(whole, numbers);
  ASSERT_EQ(step.training.statistics.size(), 2U);
  const std::vector<double>& old_means = numbers.at(step.training.statistics[0].running);
  const std::vector<double>& old_variances = numbers.at(step.training.statistics[1].running);
  const std::vector<double>& means = outputs.at(outputs.size() - 2);
  const std::vector<double>& variances = outputs.back();
  for (std::size_t channel = 0; channel < 3; ++channel) {
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < 16; ++i) {
      const double number = numbers.at(x).at((i / 4 * 3 + channel) * 4 + i % 4);
      sum += number;
      squares += number * number;
    }
    const double mean = sum / 16.0;
    const double unbiased = (squares - 16.0 * mean * mean) / 15.0;
    EXPECT_NEAR(means.at(channel), 0.9 * old_means.at(channel) + 0.1 * mean, 1e-12);
    EXPECT_NEAR(variances.at(channel), 0.9 * old_variances.at(channel) + 0.1 * unbiased, 1e-12);
  }
}

// Of three, two are frozen as a whole.
TEST(FoldedNorms, change_neither_the_loss_nor_a_gradient) {
  const std::vector<rewrite::Example>& all = rewrite::examples();
  const auto example = std::find_if(all.begin(), all.end(), [](const rewrite::Example& each) {
    return each.name == "stored_statistics";
  });
  ASSERT_NE(example, all.end());
  const model::Graph graph = example->build();
  const rewrite::TrainingGraph made = rewrite::training_graph(
      rewrite::with_precision(graph, model::DataType::kF64),
      {.loss = example->loss, .frozen = rewrite::frozen_values(graph, example->frozen)});
  const rewrite::Numbers numbers = rewrite::numbers_of_example(*example, made);
  const std::vector<std::vector<double>> before = compute_graph(made.graph, numbers);
  const auto folded = rewrite::folded_norms(made.graph);
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->changes, 2U);
  const std::vector<std::vector<double>> after = compute_graph(folded->graph, numbers);
  ASSERT_EQ(after.size(), 1 + made.gradients.size());
  expect_equal_outputs(after, before);
}

/// Computes the outputs of a graph that was made from a model's own.
std::vector<std::vector<double>> compute_outputs(const RequestedModel& model,
                                                 const rewrite::FusedGraph& made) {
  std::set<model::ValueId> given;
  for (const model::Layer& layer : made.graph.layers) {
    for (const std::optional<model::ValueId>& input : layer.inputs) {
      if (input && !made.graph.values[*input].producer) {
        given.insert(*input);
      }
    }
  }
  const std::vector<model::ValueId> wanted(given.begin(), given.end());
  std::vector<model::Tensor> operands;
  const results::Outcome outcome = model.operands(made, wanted, operands);
  EXPECT_TRUE(outcome.ok()) << outcome.reason;
  rewrite::Numbers numbers;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    numbers[wanted[i]] = read_numbers(operands[i]);
  }
  return compute_graph(made.graph, numbers);
}

// The shift and the mean of the gradient's normalisation are zeros that only the step has.
TEST(FrozenNorms, take_the_factor_behind_their_gradient) {
  onnx::ModelProto file;
  const auto status = onnx::OnnxParser::Parse(
      file,
      "<ir_version: 8, opset_import: [\"\": 17]> g (float[2,3,2,2] x) => (float[2,2,2,2] y)"
      "<float[2,3,1,1] w = {1.0, -2.0, 0.5, 0.25, 1.5, -1.0}, float[1] half = {0.5},"
      " float[2] scale = {1.0, 2.0}, float[2] shift = {0.5, 0.25},"
      " float[2] mean = {0.125, 0.5}, float[2] variance = {1.0, 3.0}> {"
      " a = Conv(x, w) b = Mul(a, half) y = BatchNormalization(b, scale, shift, mean, variance) }");
  ASSERT_TRUE(status.IsOK()) << status.ErrorMessage();
  worker::ExecuteRequest request;
  request.model = file.SerializeAsString();
  request.training = "sgd+mean_squared_error+freeze=batch_norm";
  RequestedModel model(request);
  model.fill();
  std::vector<rewrite::Match> scales;
  for (rewrite::Match& match : rewrite::matches(model.graph())) {
    if (match.rewrite == "bn_scale") {
      scales.push_back(std::move(match));
    }
  }
  const rewrite::FusedGraph fused = rewrite::fused_graph(model.graph(), scales);
  ASSERT_EQ(fused.foldings.size(), 1U);
  const auto before = compute_outputs(model, rewrite::fused_graph(model.graph(), {}));
  ASSERT_EQ(before.size(), 3U);  // the loss, the weights and their momentum
  expect_equal_outputs(compute_outputs(model, fused), before);
}

}  // namespace
}  // namespace plumb::engine
