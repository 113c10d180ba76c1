// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/training_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/spec_check.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TrainingGraph differentiated(std::string_view model, std::int64_t batch = 2) {
  return training_graph(model::read_graph(zoo::find(model)->build(batch)), {});
}

std::size_t count(const TrainingGraph& made, std::string_view op) {
  return static_cast<std::size_t>(std::count_if(
      made.graph.layers.begin(), made.graph.layers.end(), [&](const model::Layer& layer) {
        return layer.spec.op == op;
      }));
}

/// Checks what every training graph must have: values come before their readers, and keys are those
/// of layers that exist.
void expect_sound(const TrainingGraph& made) {
  std::vector<bool> known(made.graph.values.size());
  for (model::ValueId id = 0; id < known.size(); ++id) {
    known[id] = !made.graph.values[id].producer;
  }
  for (model::LayerId id = 0; id < made.graph.layers.size(); ++id) {
    const model::Layer& layer = made.graph.layers[id];
    for (const std::optional<model::ValueId>& input : layer.inputs) {
      ASSERT_TRUE(!input || known.at(*input)) << made.graph.name << ": " << layer.name;
    }
    for (const model::ValueId output : layer.outputs) {
      known.at(output) = true;
      ASSERT_EQ(made.graph.values[output].producer, id) << made.graph.name << ": " << layer.name;
    }
    if (layer.role == model::Layer::Role::kCompute) {
      const auto problem = model::check_spec(layer.spec);
      ASSERT_FALSE(problem) << made.graph.name << ": " << layer.key.text << ": " << problem->text;
    }
  }
  for (const TrainingGraph::Gradient& each : made.gradients) {
    ASSERT_EQ(made.graph.values[each.gradient].type.dims,
              made.graph.values[each.parameter].type.dims);
  }
}

TEST(TrainingGraph, every_model_of_the_zoo_has_gradients_or_says_why_not) {
  for (const zoo::Entry& entry : zoo::entries()) {
    if (entry.name.starts_with("llama")) {
      continue;  // its weights fill no memory here, but its graph takes seconds to build
    }
    const TrainingGraph made = training_graph(model::read_graph(entry.build(1)), {});
    expect_sound(made);
    EXPECT_FALSE(made.gradients.empty() && made.missing.empty()) << entry.name;
    EXPECT_TRUE(made.incomplete.empty() || !made.missing.empty()) << entry.name;
  }
}

TEST(TrainingGraph, of_resnet50_has_two_gradients_a_convolution_but_for_the_first) {
  const TrainingGraph made = differentiated("resnet50-v1");
  EXPECT_THAT(made.missing, IsEmpty());
  EXPECT_THAT(made.unreached, IsEmpty());
  EXPECT_EQ(count(made, "conv"), 53U);
  EXPECT_EQ(count(made, "conv_backward_weights"), 53U);
  EXPECT_EQ(count(made, "conv_backward_data"), 52U);  // nobody asks for the image's gradient
  EXPECT_EQ(count(made, "batch_norm_backward"), 53U);
  EXPECT_EQ(count(made, "max_pool_backward"), 1U);
  // Filters, scale and offset of 53 normalisations, the last matrix and its bias; the exporter left
  // a bias in the 1×1 convolutions that begin and end a block of a branch.
  EXPECT_THAT(made.gradients, SizeIs(53 + 2 * 53 + 2 + 32));
}

TEST(TrainingGraph, weights_are_no_constants_and_frozen_ones_have_no_gradient) {
  GraphSketch sketch;
  const auto x = sketch.input({2, 4});
  const auto hidden = sketch.gemm(x, 3);  // weights 1 and 2
  const auto result = sketch.gemm(hidden, 5);
  const model::Graph graph = sketch.build({result});
  const TrainingGraph all = training_graph(graph, {});
  EXPECT_THAT(all.gradients, SizeIs(4));
  EXPECT_THAT(all.graph.layers[0].key.text, HasSubstr("in=f32[2,4],f32[4,3],f32[3];"));
  const TrainingGraph some = training_graph(graph, {.frozen = {1, 2}});
  EXPECT_THAT(some.gradients, SizeIs(2));
  EXPECT_THAT(some.graph.layers[0].key.text, HasSubstr("in=f32[2,4],f32[4,3]c,f32[3]c;"));
  // Nothing before the second layer needs a gradient: one product fewer than its two.
  EXPECT_EQ(count(some, "gemm"), 3U);
}

TEST(TrainingGraph, a_frozen_batch_norm_has_its_own_statistics) {
  GraphSketch sketch;
  const auto first = sketch.batch_norm(sketch.conv(sketch.input({2, 3, 4, 4}), 5, 3));
  const model::Graph graph = sketch.build({sketch.batch_norm(sketch.conv(first, 6, 1))});
  const TrainingGraph frozen =
      training_graph(graph, {.frozen = frozen_values(graph, {std::string(kBatchNorms)})});
  expect_sound(frozen);
  EXPECT_THAT(frozen.missing, IsEmpty());
  EXPECT_THAT(frozen.gradients, SizeIs(2));
  EXPECT_EQ(count(frozen, "batch_norm_training"), 0U);
  // Two of them, and their gradients: the same without mean and shift.
  EXPECT_EQ(count(frozen, "batch_norm"), 4U);

  // Statistics alone: scale and shift are trained.
  const model::Layer& norm = graph.layers[1];
  const TrainingGraph some =
      training_graph(graph, {.frozen = {norm.inputs.at(3).value(), norm.inputs.at(4).value()}});
  expect_sound(some);
  EXPECT_EQ(count(some, "batch_norm_training"), 1U);
  EXPECT_THAT(some.gradients, SizeIs(6));
}

TEST(TrainingGraph, refuses_a_batch_norm_with_one_of_its_statistics_frozen) {
  GraphSketch sketch;
  const auto x = sketch.conv(sketch.input({2, 3, 4, 4}), 5, 3);
  const model::Graph graph = sketch.build({sketch.batch_norm(x)});
  const model::Layer& norm = graph.layers.at(1);
  for (const std::size_t statistic : {3U, 4U}) {
    for (const bool running : {false, true}) {
      try {
        (void)training_graph(
            graph, {.frozen = {norm.inputs.at(statistic).value()}, .running_statistics = running});
        FAIL() << "was accepted";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::kUser);
        EXPECT_THAT(error.what(), HasSubstr("freeze both, or none"));
      }
    }
  }
}

TEST(TrainingGraph, names_what_has_no_gradient_and_the_weights_behind_it) {
  GraphSketch sketch;
  const auto x = sketch.input({2, 4});
  const auto before = sketch.gemm(x, 4);
  const auto rounded = sketch.eltwise(before, "round");
  const auto result = sketch.gemm(sketch.add(rounded, before), 3);
  const TrainingGraph made = training_graph(sketch.build({result}), {});
  EXPECT_THAT(made.missing, ElementsAre(HasSubstr("'round' has no derivative")));
  EXPECT_THAT(made.incomplete, ElementsAre(1, 2));  // although one path is known
  EXPECT_THAT(made.gradients, SizeIs(2));
}

TEST(TrainingGraph, indices_end_a_path_and_nothing_is_missing) {
  GraphSketch sketch;
  const auto x = sketch.gemm(sketch.input({2, 4}), 4);
  const auto index = sketch.layer("arg_reduce",
                                  {x},
                                  {2, 1},
                                  {{"axis", std::int64_t{1}},
                                   {"fn", std::string("argmax")},
                                   {"keepdims", std::int64_t{1}},
                                   {"select_last", std::int64_t{0}}});
  const auto place = sketch.layer("cast", {index}, {2, 1});
  model::Graph graph = sketch.build({sketch.gemm(sketch.add(x, place), 3)});
  graph.values[index].type.dtype = model::DataType::kS64;
  graph.layers[sketch.at(index)].spec.outputs.at(0).dtype = model::DataType::kS64;
  graph.layers[sketch.at(place)].spec.inputs.at(0).value().dtype = model::DataType::kS64;
  const TrainingGraph made = training_graph(graph, {});
  EXPECT_THAT(made.missing, IsEmpty());
  EXPECT_THAT(made.incomplete, IsEmpty());
  EXPECT_THAT(made.gradients, SizeIs(4));
}

using LayerAttributes = std::map<std::string, model::Attribute>;

LayerAttributes attention_of_two_heads(std::int64_t causal) {
  return {{"causal", causal},
          {"kv_heads", std::int64_t{2}},
          {"outputs", std::string("y")},
          {"q_heads", std::int64_t{2}},
          {"scale", 0.5},
          {"softcap", 0.0}};
}

TEST(TrainingGraph, causal_attentions_of_one_size_share_a_constant_mask) {
  GraphSketch sketch;
  const auto attended = [&](model::ValueId x) {
    return sketch.layer("attention",
                        {sketch.matmul(x, 8), sketch.matmul(x, 8), sketch.matmul(x, 8)},
                        {2, 5, 8},
                        attention_of_two_heads(1));
  };
  const auto y = attended(attended(sketch.input({2, 5, 8})));
  const TrainingGraph made = training_graph(sketch.build({y}), {});
  expect_sound(made);
  EXPECT_THAT(made.missing, IsEmpty());
  EXPECT_THAT(made.gradients, SizeIs(6));
  EXPECT_EQ(count(made, "pad"), 1U);
  std::size_t masked = 0;
  for (const model::Layer& layer : made.graph.layers) {
    EXPECT_TRUE(layer.spec.op != "pad" || layer.role == model::Layer::Role::kFolded);
    masked += layer.spec.op == "binary" && layer.spec.inputs.at(1)->constant &&
                      layer.spec.inputs[1]->dims == std::vector<std::int64_t>{5, 5}
                  ? 1U
                  : 0U;
  }
  EXPECT_EQ(masked, 2U);
}

TEST(TrainingGraph, names_an_attention_with_keys_of_earlier_steps) {
  GraphSketch sketch;
  const auto x = sketch.input({2, 1, 8});
  const auto keys = sketch.input({2, 2, 7, 4});
  const auto values = sketch.input({2, 2, 7, 4});
  const auto y = sketch.layer(
      "attention",
      {sketch.matmul(x, 8), sketch.matmul(x, 8), sketch.matmul(x, 8), std::nullopt, keys, values},
      {2, 1, 8},
      attention_of_two_heads(0));
  const TrainingGraph made = training_graph(sketch.build({y}), {});
  EXPECT_THAT(made.missing, ElementsAre(HasSubstr("keys of earlier steps")));
  EXPECT_THAT(made.incomplete, SizeIs(3));
}

TEST(TrainingGraph, a_weight_that_the_loss_does_not_depend_on_is_named) {
  GraphSketch sketch;
  const auto x = sketch.input({2, 4});
  const auto used = sketch.gemm(x, 4);
  const auto aside = sketch.matmul(x, 3);
  const TrainingGraph made = training_graph(sketch.build({used, aside}), {});
  EXPECT_THAT(made.unreached, SizeIs(1));
  EXPECT_THAT(made.gradients, SizeIs(2));
}

TEST(TrainingGraph, an_activation_of_several_layers_has_the_gradient_of_the_function) {
  GraphSketch sketch;
  const auto x = sketch.gemm(sketch.input({4, 5}), 6);
  const auto ratio = sketch.binary("div", x, sketch.weight({}, std::sqrt(2.0)));
  const auto one = sketch.add(sketch.eltwise(ratio, "erf"), sketch.weight({}, 1.0));
  const auto gelu = sketch.mul(sketch.mul(x, one), sketch.weight({}, 0.5));
  const TrainingGraph made = training_graph(sketch.build({sketch.gemm(gelu, 3)}), {});
  expect_sound(made);
  EXPECT_THAT(made.gradients, SizeIs(4));
  EXPECT_EQ(count(made, "eltwise_backward"), 1U);
  for (const model::Layer& layer : made.graph.layers) {
    if (layer.spec.op == "eltwise_backward") {
      EXPECT_EQ(layer.spec.text("fn"), "gelu_erf");
      EXPECT_EQ(layer.inputs.at(1), x);
    }
  }
}

TEST(TrainingGraph, a_dropout_reads_a_mask) {
  const TrainingGraph made = differentiated("vgg16");
  EXPECT_THAT(made.masks, SizeIs(2));
  for (const model::ValueId mask : made.masks) {
    EXPECT_THAT(made.graph.inputs, ::testing::Contains(mask));
  }
}

TEST(TrainingGraph, refuses_a_result_that_is_not_there) {
  const model::Graph graph = model::read_graph(zoo::find("lenet")->build(1));
  EXPECT_THROW((void)training_graph(graph, {.output = 1}), Error);
}

TEST(TrainingGraph, the_last_layer_asks_for_a_loss) {
  const auto kind = [](std::int64_t classes, const char* last) {
    GraphSketch sketch;
    const auto numbers = sketch.gemm(sketch.input({5, 4}), classes);
    return training_graph(sketch.build({sketch.eltwise(numbers, last)}), {}).loss_kind;
  };
  EXPECT_EQ(kind(3, "relu"), Loss::kCrossEntropy);
  EXPECT_EQ(kind(1, "relu"), Loss::kMeanSquaredError);
  EXPECT_EQ(kind(3, "sigmoid"), Loss::kBinaryCrossEntropy);
  EXPECT_EQ(kind(1, "sigmoid"), Loss::kBinaryCrossEntropy);
}

TEST(TrainingGraph, a_binary_cross_entropy_reads_what_the_sigmoid_reads) {
  GraphSketch sketch;
  const auto numbers = sketch.gemm(sketch.input({5, 4}), 3);
  const TrainingGraph made = training_graph(sketch.build({sketch.sigmoid(numbers)}), {});
  expect_sound(made);
  EXPECT_EQ(made.graph.values[made.target].type.dims, (std::vector<std::int64_t>{15, 2}));
  EXPECT_EQ(made.classes.value().outer, 15);
  EXPECT_EQ(made.classes.value().classes, 2);
  EXPECT_EQ(count(made, "eltwise_backward"), 0U);  // of the sigmoid
  EXPECT_THAT(made.gradients, SizeIs(2));
}

TEST(TrainingGraph, a_focal_loss_reads_what_the_sigmoid_reads) {
  GraphSketch sketch;
  const auto numbers = sketch.gemm(sketch.input({5, 4}), 3);
  const TrainingGraph made =
      training_graph(sketch.build({sketch.sigmoid(numbers)}), {.loss = Loss::kFocal});
  expect_sound(made);
  const LossLayers::ClassAxis classes = made.classes.value();
  EXPECT_EQ(std::vector({classes.outer, classes.classes, classes.inner, classes.rarity}),
            (std::vector<std::int64_t>{5, 3, 1, 1000}));
  EXPECT_EQ(count(made, "eltwise_backward"), 0U);  // of the sigmoid
  EXPECT_THAT(made.gradients, SizeIs(2));
}

TEST(TrainingGraph, a_dice_loss_takes_the_classes_of_each_place) {
  GraphSketch sketch;
  const auto scores = sketch.conv(sketch.input({2, 3, 4, 5}), 6, 1);
  const TrainingGraph made =
      training_graph(sketch.build({scores}), {.loss = Loss::kDiceCrossEntropy});
  expect_sound(made);
  EXPECT_EQ(made.graph.values[made.target].type.dims, (std::vector<std::int64_t>{2, 1, 6, 20}));
  EXPECT_EQ(model::element_count(made.graph.values[made.loss].type), 1);
  EXPECT_EQ(count(made, "softmax_backward"), 1U);  // of both halves
}

TEST(TrainingGraph, models_of_mlperf_are_trained_by_losses_of_their_own) {
  const auto made = [](const char* model, std::int64_t image, Loss loss) {
    return training_graph(model::read_graph(zoo::find(model)->build(1, {{"image", image}})),
                          {.loss = loss});
  };
  const TrainingGraph detector = made("retinanet-resnext50", 256, Loss::kFocal);
  expect_sound(detector);
  EXPECT_THAT(detector.missing, IsEmpty());
  EXPECT_THAT(detector.unreached, SizeIs(12));  // the head of the boxes, scales of resizing
  const TrainingGraph segmenter = made("3d-unet", 64, Loss::kDiceCrossEntropy);
  expect_sound(segmenter);
  EXPECT_THAT(segmenter.missing, IsEmpty());
  EXPECT_THAT(segmenter.unreached, IsEmpty());
}

TEST(TrainingGraph, refuses_the_cross_entropy_of_one_class) {
  GraphSketch sketch;
  const model::Graph graph = sketch.build({sketch.gemm(sketch.input({5, 4}), 1)});
  for (const Loss loss : {Loss::kCrossEntropy, Loss::kDiceCrossEntropy}) {
    try {
      (void)training_graph(graph, {.loss = loss});
      ADD_FAILURE() << to_text(loss) << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      EXPECT_THAT(error.what(), HasSubstr("binary_cross_entropy"));
    }
  }
}

TEST(TrainingGraph, losses_have_one_name_each) {
  EXPECT_THAT(loss_names(),
              ElementsAre("cross_entropy",
                          "binary_cross_entropy",
                          "mean_squared_error",
                          "focal",
                          "dice_cross_entropy"));
  for (const std::string& name : loss_names()) {
    EXPECT_EQ(to_text(parse_loss(name).value()), name);
  }
  EXPECT_EQ(parse_loss("dice"), std::nullopt);
}

}  // namespace
}  // namespace plumb::rewrite
