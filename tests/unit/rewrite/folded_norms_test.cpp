// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/folded_norms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/model/key/spec_check.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

/// Returns a step that trains all but what is frozen.
model::Graph step_with(const model::Graph& graph, const std::string& training) {
  return training_step(graph, parse_step_choice(training).value()).training.graph;
}

/// Two convolutions with batch normalisations behind them. The second has a bias.
model::Graph two_norms() {
  GraphSketch sketch;
  const auto first = sketch.relu(sketch.batch_norm(sketch.conv(sketch.input({2, 3, 4, 4}), 5, 3)));
  return sketch.build({sketch.batch_norm(sketch.conv(first, 6, 1, true))});
}

std::size_t layers_of(const model::Graph& graph, std::string_view op) {
  return static_cast<std::size_t>(
      std::count_if(graph.layers.begin(), graph.layers.end(), [&](const model::Layer& layer) {
        return layer.role == model::Layer::Role::kCompute && layer.spec.op == op;
      }));
}

/// Checks that each layer reads what is there, and that its key is one.
void expect_executable(const model::Graph& graph) {
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (layer.role == model::Layer::Role::kFolded || !layer.spec.has_input(i)) {
        continue;
      }
      const model::Value& value = graph.values[layer.inputs.at(i).value()];
      EXPECT_TRUE(!value.producer || *value.producer < id) << layer.name;
      EXPECT_EQ(layer.spec.inputs[i]->dtype, value.type.dtype) << layer.name;
    }
    if (layer.role == model::Layer::Role::kCompute) {
      EXPECT_FALSE(model::check_spec(layer.spec)) << layer.key.text;
    }
  }
}

TEST(FoldedNorms, are_computed_by_the_convolutions_in_both_passes) {
  const model::Graph step = step_with(two_norms(), "sgd+freeze=batch_norm");
  ASSERT_EQ(layers_of(step, "batch_norm"), 4U);
  const auto folded = folded_norms(step);
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->changes, 2U);
  expect_executable(folded->graph);
  EXPECT_EQ(layers_of(folded->graph, "batch_norm"), 0U);
  EXPECT_EQ(layers_of(folded->graph, "conv"), layers_of(step, "conv"));
  // Weights and their gradients are multiplied by the factors, a bias too.
  EXPECT_EQ(layers_of(folded->graph, "binary"), layers_of(step, "binary") + 2 + 2 + 3);
  EXPECT_EQ(folded->origins.size(), folded->graph.layers.size());
  EXPECT_EQ(folded->graph.outputs, step.outputs);
}

TEST(FoldedNorms, multiply_weights_once_for_all_micro_batches) {
  const model::Graph step = step_with(two_norms(), "sgd:4+freeze=batch_norm");
  const auto folded = folded_norms(step);
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->changes, 8U);
  expect_executable(folded->graph);
  EXPECT_EQ(layers_of(folded->graph, "batch_norm"), 0U);
  EXPECT_EQ(layers_of(folded->graph, "binary"), layers_of(step, "binary") + 2 + 2 + 4 * 3);
}

TEST(FoldedNorms, keep_what_is_not_frozen_or_has_other_readers) {
  EXPECT_FALSE(folded_norms(step_with(two_norms(), "sgd")));
  EXPECT_FALSE(folded_norms(two_norms()));
  GraphSketch sketch;
  const auto convolved = sketch.conv(sketch.input({2, 3, 4, 4}), 5, 3);
  const auto sum = sketch.add(sketch.batch_norm(convolved), convolved);  // reads it as well
  EXPECT_FALSE(folded_norms(step_with(sketch.build({sum}), "sgd+freeze=batch_norm")));
}

TEST(FoldedNorms, exist_in_mixed_precision) {
  const model::Graph step = typed_graph(step_with(two_norms(), "sgd+freeze=batch_norm"), "bf16");
  for (const model::Layer& layer : step.layers) {
    if (layer.spec.op == "batch_norm") {
      EXPECT_EQ(layer.spec.inputs.at(0)->dtype, model::DataType::kBf16);
      EXPECT_EQ(layer.spec.inputs.at(4)->dtype, model::DataType::kF32);
    }
  }
  const auto folded = folded_norms(step);
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->changes, 2U);
  expect_executable(folded->graph);
}

TEST(FoldedNorms, of_resnet18_are_all_of_them) {
  const auto folded = folded_norms(
      step_with(model::read_graph(zoo::find("resnet18-v1")->build(2)), "sgd+freeze=batch_norm"));
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->changes, 20U);
  EXPECT_EQ(layers_of(folded->graph, "batch_norm"), 0U);
  expect_executable(folded->graph);
}

}  // namespace
}  // namespace plumb::rewrite
