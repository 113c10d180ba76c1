// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/spec_check.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"
#include "tests/unit/rewrite/training_example.hpp"

namespace plumb::rewrite {
namespace {

using model::DataType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TrainingStep step_of(const model::Graph& graph, Loss loss = Loss::kCrossEntropy) {
  return training_step(
      graph, {.loss = loss}, standard_optimizer(TrainingStep::Optimizer::Kind::kSgd));
}

/// Two matrices and their biases.
TrainingStep two_products(Loss loss = Loss::kCrossEntropy) {
  GraphSketch sketch;
  const auto hidden = sketch.relu(sketch.gemm(sketch.input({5, 4}), 3));
  return step_of(sketch.build({sketch.gemm(hidden, 2)}), loss);
}

/// Lists the types of the first operand and result of each layer of an operation.
std::vector<std::string> types_of(const model::Graph& graph, std::string_view op) {
  std::vector<std::string> types;
  for (const model::Layer& layer : graph.layers) {
    if (layer.spec.op == op) {
      types.push_back(std::string(model::to_text(layer.spec.inputs.at(0).value().dtype)) + "→" +
                      std::string(model::to_text(layer.spec.outputs.at(0).dtype)));
    }
  }
  return types;
}

/// Checks that each layer reads what was made before it, in the type in which it was made.
void expect_sound(const model::Graph& graph) {
  std::set<model::ValueId> made(graph.inputs.begin(), graph.inputs.end());
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    EXPECT_NE(layer.role, model::Layer::Role::kUnsupported) << layer.name << ": " << layer.reason;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      if (!layer.inputs[i]) {
        continue;
      }
      const model::Value& value = graph.values[*layer.inputs[i]];
      EXPECT_TRUE(!value.producer || made.contains(*layer.inputs[i])) << layer.name;
      EXPECT_EQ(layer.spec.inputs[i].value().dtype, value.type.dtype) << layer.name << " " << i;
    }
    for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
      EXPECT_EQ(layer.spec.outputs[i].dtype, graph.values[layer.outputs[i]].type.dtype);
      EXPECT_EQ(graph.values[layer.outputs[i]].producer, id);
      made.insert(layer.outputs[i]);
    }
    if (layer.role == model::Layer::Role::kCompute) {
      EXPECT_FALSE(model::check_spec(layer.spec)) << layer.key.text;
    }
  }
}

TEST(MixedPrecision, products_have_few_digits_and_updates_those_of_f32) {
  const model::Graph mixed = mixed_precision_step(two_products().training.graph, DataType::kBf16);
  expect_sound(mixed);
  EXPECT_THAT(types_of(mixed, "gemm"), testing::Each("bf16→bf16"));
  EXPECT_THAT(types_of(mixed, "eltwise_backward"), ElementsAre("bf16→bf16"));
  EXPECT_THAT(types_of(mixed, "sgd"), testing::Each("f32→f32"));
  EXPECT_THAT(types_of(mixed, "softmax"), ElementsAre("f32→f32"));
  EXPECT_THAT(types_of(mixed, "softmax_backward"), ElementsAre("f32→f32"));
  // Four weights and the loss's gradient; the logits and four gradients.
  std::map<std::string, int> casts;
  for (const std::string& types : types_of(mixed, "cast")) {
    ++casts[types];
  }
  EXPECT_EQ(casts, (std::map<std::string, int>{{"f32→bf16", 5}, {"bf16→f32", 5}}));
  for (const model::ValueId output : mixed.outputs) {
    EXPECT_EQ(mixed.values[output].type.dtype, DataType::kF32);
  }
}

TEST(MixedPrecision, a_loss_of_squares_has_the_digits_of_f32) {
  const model::Graph mixed =
      mixed_precision_step(two_products(Loss::kMeanSquaredError).training.graph, DataType::kBf16);
  expect_sound(mixed);
  EXPECT_THAT(types_of(mixed, "binary"), ElementsAre("f32→f32", "f32→f32"));
  EXPECT_THAT(types_of(mixed, "reduce"),
              testing::Contains("f32→f32"));  // the other ones are gradients of biases
}

TEST(MixedPrecision, a_binary_cross_entropy_has_the_digits_of_f32) {
  const model::Graph mixed =
      mixed_precision_step(two_products(Loss::kBinaryCrossEntropy).training.graph, DataType::kBf16);
  expect_sound(mixed);
  EXPECT_THAT(types_of(mixed, "softmax"), ElementsAre("f32→f32"));
  EXPECT_THAT(types_of(mixed, "softmax_backward"), ElementsAre("f32→f32"));
  EXPECT_THAT(types_of(mixed, "binary"), ElementsAre("f32→f32"));
}

TEST(MixedPrecision, layers_of_every_loss_have_the_digits_of_f32) {
  for (const std::string& loss : loss_names()) {
    SCOPED_TRACE(loss);
    GraphSketch sketch;
    const auto hidden = sketch.relu(sketch.gemm(sketch.input({5, 4}), 3));
    TrainingStep::Choice choice;
    choice.loss = parse_loss(loss);
    choice.micro_batches = 2;
    const TrainingStep step = training_step(sketch.build({sketch.gemm(hidden, 2)}), choice);
    const model::Graph mixed = mixed_precision_step(step.training.graph, DataType::kBf16);
    expect_sound(mixed);
    std::size_t of_loss = 0;
    for (const model::Layer& layer : mixed.layers) {
      if (!layer.of_loss || layer.role != model::Layer::Role::kCompute) {
        continue;
      }
      ++of_loss;
      for (const std::optional<model::TensorType>& input : layer.spec.inputs) {
        EXPECT_EQ(input.value().dtype, DataType::kF32) << layer.key.text;
      }
      EXPECT_EQ(layer.spec.outputs.front().dtype, DataType::kF32) << layer.key.text;
    }
    EXPECT_GE(of_loss, 2U * 5U + 1U);  // of both micro-batches, and the sum
    EXPECT_THAT(types_of(mixed, "gemm"), testing::Each("bf16→bf16"));
    EXPECT_EQ(mixed.values[step.training.target].type.dtype, DataType::kF32);
    EXPECT_EQ(mixed.values[mixed.outputs.front()].type.dtype, DataType::kF32);
  }
}

/// Lists by what layers of a graph multiply.
std::multiset<double> factors(const model::Graph& graph) {
  std::multiset<double> found;
  for (const model::Layer& layer : graph.layers) {
    if (layer.spec.op == "eltwise" && layer.spec.text("fn") == "linear") {
      found.insert(layer.spec.reals("parameters").at(0));
    }
  }
  return found;
}

TEST(MixedPrecision, f16_scales_a_gradient_of_other_extents_than_the_result) {
  GraphSketch sketch;
  const auto numbers = sketch.gemm(sketch.input({5, 4}), 6);
  const TrainingStep step =
      step_of(sketch.build({sketch.view(numbers, {5, 2, 3})}), Loss::kMeanSquaredError);
  const model::Graph mixed = mixed_precision_step(step.training.graph, DataType::kF16);
  expect_sound(mixed);
  EXPECT_EQ(factors(mixed).count(kLossScale), 1U);
  EXPECT_EQ(factors(mixed).count(1.0 / kLossScale), 2U);  // the matrix and its bias
}

TEST(MixedPrecision, f16_scales_a_gradient_whose_rows_are_summed_in_f32) {
  GraphSketch sketch;
  const auto rows = sketch.gemm(sketch.input({5, 4}), 6);
  const auto picked =
      sketch.layer("gather",
                   {rows, sketch.input({3}, DataType::kS64)},
                   {3, 6},
                   {{"axis", std::int64_t{0}}, {"distribution", std::string("uniform")}});
  const TrainingStep step = step_of(sketch.build({picked}), Loss::kMeanSquaredError);
  const model::Graph mixed = mixed_precision_step(step.training.graph, DataType::kF16);
  expect_sound(mixed);
  EXPECT_THAT(types_of(mixed, "gather_backward"), ElementsAre("f32→f32"));
  EXPECT_EQ(factors(mixed).count(kLossScale), 1U);
  EXPECT_EQ(factors(mixed).count(1.0 / kLossScale), 2U);  // the matrix and its bias
}

TEST(MixedPrecision, a_weight_whose_gradient_is_the_loss_s_is_not_scaled) {
  GraphSketch sketch;
  const auto x = sketch.input({5, 4});
  const TrainingStep step =
      step_of(sketch.build({sketch.add(x, sketch.weight({5, 4}))}), Loss::kMeanSquaredError);
  const model::Graph mixed = mixed_precision_step(step.training.graph, DataType::kF16);
  expect_sound(mixed);
  EXPECT_EQ(factors(mixed), factors(step.training.graph));
}

TEST(MixedPrecision, f16_scales_the_gradient_of_the_loss_and_scales_weights_back) {
  const TrainingStep step = two_products();
  std::multiset<double> expected = factors(step.training.graph);
  expected.insert(kLossScale);
  for (std::size_t weight = 0; weight < 4; ++weight) {
    expected.insert(1.0 / kLossScale);
  }
  const model::Graph mixed = mixed_precision_step(step.training.graph, DataType::kF16);
  expect_sound(mixed);
  EXPECT_EQ(factors(mixed), expected);
}

TEST(MixedPrecision, a_scale_that_adapts_is_f32_and_takes_the_place_of_the_constant_one) {
  for (const std::string& loss : loss_names()) {
    SCOPED_TRACE(loss);
    GraphSketch sketch;
    const auto hidden = sketch.relu(sketch.gemm(sketch.input({5, 4}), 3));
    TrainingStep::Choice choice;
    choice.loss = parse_loss(loss);
    choice.loss_scaling = true;
    const TrainingStep step = training_step(sketch.build({sketch.gemm(hidden, 2)}), choice);
    const model::Graph mixed = mixed_precision_step(step.training.graph, DataType::kF16);
    expect_sound(mixed);
    expect_sound(smallest_step(mixed).value().graph);
    std::size_t readers = 0;
    for (const model::Layer& layer : mixed.layers) {
      const bool reads =
          std::find(layer.inputs.begin(), layer.inputs.end(), step.training.loss_scale) !=
          layer.inputs.end();
      readers += reads ? 1 : 0;
      for (const auto& input : layer.spec.inputs) {
        EXPECT_TRUE(!reads || input.value().dtype == DataType::kF32) << layer.key.text;
      }
      if (layer.spec.op == "eltwise" && layer.spec.text("fn") == "linear") {
        const double factor = layer.spec.reals("parameters").at(0);
        EXPECT_NE(factor, kLossScale);
        EXPECT_NE(factor, 1.0 / kLossScale);
      }
    }
    EXPECT_EQ(readers, 1U + 4U + 1U + 1U);  // product, divisions, its adaptation and update
    // The model's gradients begin with one value that was scaled before it was cast.
    EXPECT_THAT(types_of(mixed, "loss_scale"), ElementsAre("f32→f32"));
    EXPECT_THAT(types_of(mixed, "eltwise_backward"), ElementsAre("f16→f16"));
  }
}

TEST(MixedPrecision, running_statistics_follow_the_batch_s_without_a_cast_or_the_loss_scale) {
  GraphSketch sketch;
  const model::Graph graph =
      sketch.build({sketch.batch_norm(sketch.conv(sketch.input({2, 3, 4, 4}), 4, 3))});
  const TrainingStep step = training_step(graph, {.running_statistics = true}, {});
  const model::Graph mixed = mixed_precision_step(step.training.graph, DataType::kF16);
  expect_sound(mixed);
  for (const std::size_t from_end : {1U, 2U}) {
    const model::Layer& update = mixed.layers.at(mixed.layers.size() - from_end);
    const auto maker_of = [&](std::optional<model::ValueId> value) -> const model::Layer& {
      return mixed.layers.at(mixed.values.at(value.value()).producer.value());
    };
    const model::Layer& negated = maker_of(update.inputs.at(1));
    EXPECT_EQ(negated.spec.op, "eltwise");
    EXPECT_EQ(negated.spec.outputs.front().dtype, DataType::kF32);
    EXPECT_EQ(maker_of(negated.inputs.front()).spec.op, "batch_norm_training");
  }
}

TEST(MixedPrecision, parameters_and_statistics_of_normalisations_stay_wide) {
  GraphSketch sketch;
  const auto images = sketch.batch_norm(sketch.conv(sketch.input({2, 3, 4, 4}), 4, 3));
  const model::Graph graph =
      sketch.build({sketch.gemm(sketch.view(sketch.relu(images), {2, 64}), 3)});
  for (const DataType type : {DataType::kBf16, DataType::kF16}) {
    const model::Graph mixed = mixed_precision_step(step_of(graph).training.graph, type);
    expect_sound(mixed);
    for (const model::Layer& layer : mixed.layers) {
      if (layer.spec.op == "batch_norm_training" || layer.spec.op == "batch_norm_backward") {
        EXPECT_EQ(layer.spec.inputs.front().value().dtype, type);
        EXPECT_EQ(layer.spec.inputs.back().value().dtype, DataType::kF32);
        EXPECT_EQ(layer.spec.outputs.front().dtype, type);
        EXPECT_EQ(layer.spec.outputs.back().dtype, DataType::kF32);
      }
    }
  }
}

TEST(MixedPrecision, rows_of_an_embedding_are_looked_up_and_summed_in_f32) {
  const TrainingStep step = step_of(model::read_graph(zoo::find("bert-base")->build(1)));
  const model::Graph mixed = mixed_precision_step(step.training.graph, DataType::kBf16);
  EXPECT_THAT(types_of(mixed, "gather_backward"), testing::Each("f32→f32"));
  EXPECT_THAT(types_of(mixed, "gather"), testing::Contains("f32→f32"));
}

TEST(MixedPrecision, every_example_is_sound_also_with_values_computed_again) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.name);
    const TrainingStep step = step_of(example.build(), example.loss);
    for (const DataType type : {DataType::kBf16, DataType::kF16}) {
      const model::Graph mixed = mixed_precision_step(step.training.graph, type);
      expect_sound(mixed);
      expect_sound(smallest_step(mixed).value().graph);
      EXPECT_EQ(mixed.outputs, step.training.graph.outputs);
    }
  }
}

TEST(MixedPrecision, steps_of_the_zoo_are_sound) {
  for (const char* model : {"lenet", "inception-v1", "mobilenet-v2", "densenet121", "bert-base"}) {
    SCOPED_TRACE(model);
    const TrainingStep step = step_of(model::read_graph(zoo::find(model)->build(2)));
    expect_sound(mixed_precision_step(step.training.graph, DataType::kBf16));
  }
}

TEST(MixedPrecision, is_what_a_type_of_a_suite_makes_of_a_step) {
  const model::Graph step = two_products().training.graph;
  EXPECT_THAT(types_of(typed_graph(step, "bf16"), "sgd"), testing::Each("f32→f32"));
  EXPECT_THAT(typed_graph(step, "f32").layers, SizeIs(step.layers.size()));
  EXPECT_THAT(typed_graph(step, "tf32").layers, SizeIs(step.layers.size()));
  for (const std::string_view type : {"", "f32", "bf16", "f16", "tf32"}) {
    EXPECT_TRUE(has_form(step, type)) << type;
  }
  for (const std::string_view type : {"int8", "f64"}) {
    EXPECT_FALSE(has_form(step, type));
    EXPECT_TRUE(has_form(model::read_graph(zoo::find("lenet")->build(1)), type));
    try {
      static_cast<void>(typed_graph(step, type));
      FAIL() << "was accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("f32, tf32, bf16 or f16, not in '"));
    }
  }
}

}  // namespace
}  // namespace plumb::rewrite
