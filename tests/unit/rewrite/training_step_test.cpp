// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/training_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/spec_check.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/fused_graph.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Two matrices and their biases: 12, 3, 6 and 2 numbers.
model::Graph two_products() {
  GraphSketch sketch;
  const auto hidden = sketch.relu(sketch.gemm(sketch.input({5, 4}), 3));
  return sketch.build({sketch.gemm(hidden, 2)});
}

TrainingStep step_by(TrainingStep::Optimizer::Kind kind) {
  return training_step(two_products(), {}, standard_optimizer(kind));
}

TEST(TrainingStep, updates_each_weight_in_the_last_layers) {
  const TrainingStep step = step_by(TrainingStep::Optimizer::Kind::kSgd);
  const model::Graph& graph = step.training.graph;
  ASSERT_EQ(graph.layers.size(), step.first_update_layer + 4);
  EXPECT_THAT(graph.layers[step.first_update_layer].key.text,
              AllOf(StartsWith("v1:sgd;in=f32[12],f32[12],f32[12];out=f32[12],f32[12];"),
                    HasSubstr("decay=0.0;momentum=0.9;rate=0.001")));
  for (model::LayerId id = step.first_update_layer; id < graph.layers.size(); ++id) {
    EXPECT_FALSE(model::check_spec(graph.layers[id].spec)) << graph.layers[id].key.text;
    EXPECT_EQ(model::parse_key(graph.layers[id].key), graph.layers[id].spec);
  }
  EXPECT_THAT(graph.outputs, SizeIs(1 + 4 + 4));
  EXPECT_THAT(step.kinds, ::testing::ElementsAre(0, 1, 1, 1, 1, 2, 2, 2, 2));
}

TEST(TrainingStep, weights_and_states_are_inputs_and_no_constants) {
  const TrainingStep step = step_by(TrainingStep::Optimizer::Kind::kAdam);
  const model::Graph& graph = step.training.graph;
  EXPECT_THAT(step.states, SizeIs(3 * 4));
  for (const TrainingGraph::Gradient& each : step.training.gradients) {
    EXPECT_THAT(graph.inputs, Contains(each.parameter));
    EXPECT_FALSE(graph.values[each.parameter].type.constant);
  }
  for (const model::ValueId state : step.states) {
    EXPECT_THAT(graph.inputs, Contains(state));
  }
  EXPECT_EQ(std::set<model::ValueId>(graph.inputs.begin(), graph.inputs.end()).size(),
            graph.inputs.size());
}

TEST(TrainingStep, decay_of_adamw_is_of_the_weights) {
  const auto key_of = [](TrainingStep::Optimizer::Kind kind) {
    const TrainingStep step = step_by(kind);
    return step.training.graph.layers[step.first_update_layer].key.text;
  };
  EXPECT_THAT(key_of(TrainingStep::Optimizer::Kind::kAdam),
              AllOf(HasSubstr("decay=0.0;"), HasSubstr("decay_of=gradient")));
  EXPECT_THAT(key_of(TrainingStep::Optimizer::Kind::kAdamw),
              AllOf(HasSubstr("decay=0.01;"), HasSubstr("decay_of=weights")));
}

TEST(TrainingStep, without_momentum_there_is_no_state) {
  const TrainingStep step = training_step(two_products(), {}, {.momentum = 0.0});
  EXPECT_TRUE(step.states.empty());
  EXPECT_THAT(step.training.graph.outputs, SizeIs(1 + 4));
  EXPECT_THAT(step.training.graph.layers.back().key.text,
              HasSubstr("sgd;in=f32[2],f32[2];out=f32[2];"));
}

TEST(TrainingStep, frozen_weights_are_left_alone) {
  const TrainingStep step = training_step(two_products(), {.frozen = {1, 2}}, {});
  EXPECT_THAT(step.training.gradients, SizeIs(2));
  EXPECT_THAT(step.training.graph.layers, SizeIs(step.first_update_layer + 2));
}

TEST(TrainingStep, updates_running_statistics_where_it_is_asked_to) {
  GraphSketch sketch;
  const model::Graph graph =
      sketch.build({sketch.batch_norm(sketch.conv(sketch.input({2, 3, 4, 4}), 5, 3))});
  const TrainingStep without = training_step(graph, {}, {});
  const TrainingStep step = training_step(graph, {.running_statistics = true}, {});
  // Two of the batch are multiplied by a number before, and two updates follow.
  EXPECT_EQ(step.training.graph.layers.size(), without.training.graph.layers.size() + 4);
  EXPECT_EQ(step.training.graph.layers.size() - step.first_update_layer, 3U + 2U);
  EXPECT_THAT(step.training.graph.layers.back().key.text,
              AllOf(StartsWith("v1:sgd;in=f32[5],f32[5];out=f32[5];"),
                    HasSubstr("decay=1.0;momentum=0.0;rate=0.1")));
  EXPECT_THAT(step.kinds, ::testing::ElementsAre(0, 1, 1, 1, 2, 2, 2, 3, 3));
  EXPECT_THAT(step.training.graph.inputs, SizeIs(without.training.graph.inputs.size() + 2));
}

TEST(TrainingStep, scales_its_loss_and_updates_on_a_condition) {
  const TrainingStep without = training_step(two_products(), TrainingStep::Choice{});
  TrainingStep::Choice choice;
  choice.loss_scaling = true;
  const TrainingStep step = training_step(two_products(), choice);
  const model::Graph& graph = step.training.graph;
  for (const model::Layer& layer : graph.layers) {
    EXPECT_FALSE(model::check_spec(layer.spec)) << layer.key.text;
  }
  // A product with the scale, four divisions, the layer that adapts it, and its two results
  // negated. Then updates of both.
  EXPECT_EQ(step.first_update_layer, without.first_update_layer + 1 + 4 + 1 + 2);
  ASSERT_EQ(graph.layers.size(), step.first_update_layer + 4 + 2);
  const auto scale = std::find_if(graph.layers.begin(), graph.layers.end(), [](const auto& layer) {
    return layer.spec.op == "loss_scale";
  });
  ASSERT_NE(scale, graph.layers.end());
  EXPECT_THAT(scale->key.text,
              AllOf(HasSubstr("in=f32[1],f32[1],f32[4,3],f32[3],f32[3,2],f32[2];"),
                    HasSubstr("backoff=0.5;growth=2.0;interval=2000")));
  EXPECT_EQ(scale->inputs.front(), step.training.loss_scale);
  for (std::size_t i = 0; i < 4; ++i) {
    const model::Layer& update = graph.layers[step.first_update_layer + i];
    EXPECT_EQ(update.inputs.size(), 4U);
    EXPECT_EQ(update.inputs.back(), scale->outputs.at(2));
  }
  EXPECT_THAT(graph.layers.back().key.text,
              AllOf(StartsWith("v1:sgd;in=f32[1],f32[1];out=f32[1];"),
                    HasSubstr("decay=1.0;momentum=0.0;rate=1.0")));
  EXPECT_THAT(step.kinds, ::testing::ElementsAre(0, 1, 1, 1, 1, 2, 2, 2, 2, 4, 5));
  EXPECT_THAT(graph.inputs, SizeIs(without.training.graph.inputs.size() + 2));
  EXPECT_THAT(step.states, SizeIs(4 + 1));
}

TEST(TrainingStep, joins_updates_of_one_condition) {
  TrainingStep::Choice choice;
  choice.loss_scaling = true;
  choice.micro_batches = 2;
  const TrainingStep step = training_step(two_products(), choice);
  const model::Graph& graph = step.training.graph;
  const auto scaled = [&](const model::Layer& layer) {
    return layer.spec.op == "binary" && layer.spec.text("fn") == "mul" &&
           layer.inputs.back() == step.training.loss_scale;
  };
  const auto adapted = [](const model::Layer& layer) { return layer.spec.op == "loss_scale"; };
  EXPECT_EQ(std::count_if(graph.layers.begin(), graph.layers.end(), scaled), 2);
  EXPECT_EQ(std::count_if(graph.layers.begin(), graph.layers.end(), adapted), 1);
  std::vector<Match> updates = matches(graph);
  std::erase_if(updates, [](const Match& match) { return match.rewrite != "update"; });
  ASSERT_THAT(updates, SizeIs(2));  // of weights, and of the scale and its steps
  const model::Graph fused = fused_graph(graph, updates).graph;
  ASSERT_EQ(fused.layers.size(), step.first_update_layer + 2);
  for (const model::Layer& layer : fused.layers) {
    EXPECT_FALSE(model::check_spec(layer.spec)) << layer.key.text;
    if (layer.spec.op == "sgd" && layer.spec.real("momentum") > 0.0) {
      EXPECT_THAT(layer.inputs, SizeIs(4 * 3 + 1));
      EXPECT_THAT(layer.outputs, SizeIs(4 * 2));
    }
  }
}

TEST(TrainingStep, refuses_a_model_whose_gradients_are_not_all_known) {
  GraphSketch sketch;
  const auto rounded = sketch.eltwise(sketch.gemm(sketch.input({2, 4}), 4), "round");
  const model::Graph graph = sketch.build({sketch.gemm(rounded, 3)});
  try {
    static_cast<void>(training_step(graph, {}, {}));
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("'round' has no derivative"));
  }
  GraphSketch bare;
  const model::Graph without = bare.build({bare.relu(bare.input({2, 4}))});
  EXPECT_THROW(static_cast<void>(training_step(without, {}, {})), Error);
}

TEST(TrainingStep, classes_lie_along_the_axis_of_the_softmax) {
  const auto classes_of = [](std::int64_t coerce) {
    GraphSketch sketch;
    const auto logits = sketch.conv(sketch.input({2, 3, 4, 5}), 6, 1);
    const auto result =
        sketch.layer("softmax",
                     {logits},
                     {2, 6, 4, 5},
                     {{"axis", std::int64_t{1}}, {"coerce", coerce}, {"log", std::int64_t{0}}});
    return training_graph(sketch.build({result}), {}).classes.value();
  };
  const LossLayers::ClassAxis channels = classes_of(0);
  EXPECT_EQ(std::vector({channels.outer, channels.classes, channels.inner}),
            (std::vector<std::int64_t>{2, 6, 20}));
  const LossLayers::ClassAxis all = classes_of(1);
  EXPECT_EQ(std::vector({all.outer, all.classes, all.inner}),
            (std::vector<std::int64_t>{2, 120, 1}));
}

TEST(TrainingStep, updates_become_one_layer_that_writes_all_results) {
  const TrainingStep step = step_by(TrainingStep::Optimizer::Kind::kSgd);
  const model::Graph& graph = step.training.graph;
  std::vector<Match> updates = matches(graph);
  std::erase_if(updates, [](const Match& match) { return match.rewrite != "update"; });
  ASSERT_THAT(updates, SizeIs(1));
  EXPECT_EQ(updates[0].layers.front(), step.first_update_layer);
  EXPECT_THAT(updates[0].layers, SizeIs(4));
  EXPECT_FALSE(model::check_spec(updates[0].spec)) << updates[0].key.text;
  const model::Graph fused = fused_graph(graph, updates).graph;
  ASSERT_EQ(fused.layers.size(), step.first_update_layer + 1);
  EXPECT_THAT(fused.layers.back().inputs, SizeIs(4 * 3));
  EXPECT_THAT(fused.layers.back().outputs, SizeIs(4 * 2));
  for (std::size_t i = 1; i < fused.outputs.size(); ++i) {
    EXPECT_EQ(fused.values[fused.outputs[i]].producer, step.first_update_layer);
  }
}

TEST(TrainingStep, functions_with_the_slope_of_their_result_are_fused_with_the_layer_before) {
  const auto fused = [](const std::string& fn, std::vector<double> parameters) {
    GraphSketch sketch;
    const auto hidden =
        sketch.eltwise(sketch.gemm(sketch.input({5, 4}), 3), fn, std::move(parameters));
    const model::Graph graph = sketch.build({sketch.gemm(hidden, 2)});
    const std::vector<Match> found =
        matches(training_step(graph, {}, TrainingStep::Optimizer{}).training.graph);
    return std::any_of(found.begin(), found.end(), [](const Match& match) {
      return match.rewrite == "gemm_activation";
    });
  };
  EXPECT_TRUE(fused("relu", {}));
  EXPECT_TRUE(fused("leaky_relu", {0.1}));
  EXPECT_FALSE(fused("leaky_relu", {-0.1}));  // its result has the other sign
  EXPECT_FALSE(fused("clip", {0.0, 6.0}));    // its result lies at a corner where it was cut off
  EXPECT_FALSE(fused("sigmoid", {}));
}

std::size_t count_of_rule(const std::vector<Match>& matches, std::string_view rule) {
  return static_cast<std::size_t>(std::count_if(
      matches.begin(), matches.end(), [&](const Match& match) { return match.rewrite == rule; }));
}

/// Fuses what can be fused, and checks that each value of the result is made before it is read.
model::Graph fused_in_order(const model::Graph& graph) {
  const std::vector<Match> chosen = largest_matches(graph, [](const Match&) { return true; });
  model::Graph fused = fused_graph(graph, chosen).graph;
  const std::vector<std::vector<model::LayerId>> before = model::predecessors(fused);
  for (model::LayerId id = 0; id < before.size(); ++id) {
    for (const model::LayerId earlier : before[id]) {
      EXPECT_LT(earlier, id) << fused.layers[id].name;
    }
  }
  return fused;
}

TEST(TrainingStep, gradients_of_a_matrix_and_its_bias_become_one_layer) {
  const model::Graph gemms = step_by(TrainingStep::Optimizer::Kind::kSgd).training.graph;
  EXPECT_EQ(count_of_rule(matches(gemms), "bias_gradient"), 2U);
  static_cast<void>(fused_in_order(gemms));
  const auto file = zoo::find("bert-base")->build(2, {{"sequence", 8}});
  const model::Graph bert = training_step(model::read_graph(file), {}, {}).training.graph;
  const std::vector<Match> found = matches(bert);
  // Query, key, value, output and two of the MLP, in each of twelve blocks.
  EXPECT_GE(count_of_rule(found, "bias_gradient"), 12U * 6U);
  EXPECT_EQ(count_of_rule(found, "matmul_add"), 12U * 6U);
  EXPECT_EQ(count_of_rule(found, "matmul_add_add"), 12U * 2U);
  EXPECT_EQ(count_of_rule(found, "gelu"), 12U);  // their gradients read the operands alone
  static_cast<void>(fused_in_order(bert));
}

TEST(TrainingStep, a_normalisation_by_the_batch_takes_the_relu_behind_it) {
  GraphSketch sketch;
  const auto normalized = sketch.batch_norm(sketch.conv(sketch.input({4, 2, 6, 6}), 8, 3));
  const auto flat = sketch.view(sketch.relu(normalized), {4, 8 * 6 * 6});
  const model::Graph graph = sketch.build({sketch.gemm(flat, 3)});
  for (const std::int64_t micro_batches : {1, 3}) {
    const model::Graph step =
        training_step(graph, TrainingStep::Choice{{}, micro_batches}).training.graph;
    std::size_t normalisations = 0;
    for (const model::Layer& layer : fused_in_order(step).layers) {
      if (layer.spec.op == "batch_norm_training") {
        EXPECT_THAT(layer.key.text,
                    HasSubstr("out=f32[4,8,6,6],f32[8],f32[8];acc=f32;math=strict;epsilon=1e-05;"
                              "epilogue=relu"));
        EXPECT_THAT(layer.outputs, SizeIs(3));
        EXPECT_FALSE(model::check_spec(layer.spec));
        ++normalisations;
      }
    }
    EXPECT_EQ(normalisations, static_cast<std::size_t>(micro_batches));
  }
}

TEST(TrainingStep, many_updates_become_several_layers_of_bounded_keys) {
  const TrainingStep step =
      training_step(model::read_graph(zoo::find("densenet121")->build(1)), {}, {});
  std::size_t updated = 0;
  for (const Match& match : matches(step.training.graph)) {
    if (match.rewrite == "update") {
      EXPECT_LE(match.key.text.size(), 4096U);
      updated += match.layers.size();
    }
  }
  EXPECT_EQ(updated, step.training.gradients.size());
}

TEST(TrainingStep, each_optimiser_has_one_name) {
  for (const TrainingStep::Optimizer::Kind kind : {TrainingStep::Optimizer::Kind::kSgd,
                                                   TrainingStep::Optimizer::Kind::kAdam,
                                                   TrainingStep::Optimizer::Kind::kAdamw}) {
    EXPECT_EQ(parse_optimizer(to_text(kind)), kind);
  }
  EXPECT_EQ(parse_optimizer("lion"), std::nullopt);
}

TEST(TrainingStep, is_chosen_by_an_optimiser_and_a_number_of_micro_batches) {
  EXPECT_EQ(parse_step_choice("adamw")->micro_batches, 1);
  EXPECT_EQ(parse_step_choice("adamw")->optimizer.kind, TrainingStep::Optimizer::Kind::kAdamw);
  EXPECT_EQ(parse_step_choice("sgd:4")->micro_batches, 4);
  EXPECT_EQ(parse_step_choice("sgd:64")->micro_batches, 64);
  for (const char* const text :
       {"", ":4", "lion:4", "sgd:", "sgd:0", "sgd:1", "sgd:65", "sgd:-2", "sgd:4x", "sgd:4:4"}) {
    EXPECT_EQ(parse_step_choice(text), std::nullopt) << text;
  }
}

TEST(TrainingStep, has_a_loss_and_frozen_weights_in_its_text) {
  const std::string text =
      step_choice_text("sgd:4", "mean_squared_error", {"conv1*", "batch_norm"});
  EXPECT_EQ(text, "sgd:4+mean_squared_error+freeze=conv1*+freeze=batch_norm");
  const TrainingStep::Choice choice = parse_step_choice(text).value();
  EXPECT_EQ(choice.micro_batches, 4);
  EXPECT_EQ(choice.loss, Loss::kMeanSquaredError);
  EXPECT_THAT(choice.frozen, ::testing::ElementsAre("conv1*", "batch_norm"));
  EXPECT_FALSE(choice.running_statistics);
  EXPECT_TRUE(parse_step_choice("sgd+running_statistics").value().running_statistics);
  EXPECT_FALSE(choice.loss_scaling);
  EXPECT_TRUE(parse_step_choice("sgd:2+loss_scaling").value().loss_scaling);
  EXPECT_EQ(step_choice_text("adam", {}, {}), "adam");
  for (const char* const wrong : {"sgd+",
                                  "sgd+hinge",
                                  "sgd+freeze=",
                                  "sgd+freeze=a b",
                                  "sgd+freeze=a|b",
                                  "+freeze=a",
                                  "sgd+cross_entropy+cross_entropy",
                                  "sgd+loss_scaling+loss_scaling",
                                  "sgd+running_statistics+running_statistics"}) {
    EXPECT_EQ(parse_step_choice(wrong), std::nullopt) << wrong;
  }
}

TEST(TrainingStep, has_a_cap_of_memory_in_its_text) {
  const auto cap_of = [](const std::string& amount) {
    const auto choice = parse_step_choice("sgd+memory_cap=" + amount);
    return choice ? choice->memory_cap : std::nullopt;
  };
  EXPECT_EQ(cap_of("1000"), Bytes{1000});
  EXPECT_EQ(cap_of("300MiB"), Bytes{std::int64_t{300} << 20});
  EXPECT_EQ(cap_of("2GiB"), Bytes{std::int64_t{2} << 30});
  for (const char* const wrong : {"", "0", "-1", "MiB", "3 MiB", "3MB", "1.5GiB", "99999999GiB"}) {
    EXPECT_EQ(cap_of(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(parse_step_choice("sgd+memory_cap=1+memory_cap=1"), std::nullopt);
  EXPECT_EQ(to_text(*parse_step_choice("sgd+memory_cap=2048KiB")), "sgd+memory_cap=2MiB");
  EXPECT_EQ(to_text(*parse_step_choice("sgd+memory_cap=1025")), "sgd+memory_cap=1025");
  const TrainingStep step =
      training_step(two_products(), parse_step_choice("sgd+memory_cap=4KiB").value());
  EXPECT_EQ(step.memory_cap, Bytes{4096});
}

TEST(TrainingStep, has_one_text_whatever_the_order_of_its_parts) {
  const auto rewritten = [](const char* text) { return to_text(parse_step_choice(text).value()); };
  constexpr const char* kText = "sgd:4+cross_entropy+freeze=a+freeze=b+running_statistics";
  for (const char* const text :
       {kText,
        "sgd:04+freeze=b+freeze=a+cross_entropy+running_statistics",
        "sgd:4+running_statistics+freeze=a+cross_entropy+freeze=b+freeze=a"}) {
    EXPECT_EQ(rewritten(text), kText);
  }
  EXPECT_EQ(rewritten("adamw"), "adamw");
  EXPECT_EQ(rewritten("sgd+running_statistics+loss_scaling+freeze=a"),
            "sgd+freeze=a+loss_scaling+running_statistics");
}

TEST(TrainingStep, leaves_weights_alone_that_its_text_freezes) {
  const model::Graph graph = two_products();  // weights w1, w2, w5 and w6
  const TrainingStep::Choice choice =
      parse_step_choice("sgd:2+mean_squared_error+freeze=w1+freeze=w2").value();
  const TrainingStep step = training_step(graph, choice);
  EXPECT_EQ(step.training.loss_kind, Loss::kMeanSquaredError);
  EXPECT_THAT(step.training.gradients, SizeIs(2));
  try {
    (void)training_step(graph, parse_step_choice("sgd+freeze=conv*").value());
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr("'conv*' is to be frozen"));
  }
}

TEST(TrainingStep, repeats_all_but_the_update_for_a_micro_batch) {
  const model::Graph graph = model::read_graph(zoo::find("lenet")->build(1));
  const TrainingStep one = training_step(graph, TrainingStep::Choice{});
  const TrainingStep four = training_step(graph, {.optimizer = {}, .micro_batches = 4});
  const std::size_t updates = one.training.gradients.size();
  ASSERT_EQ(four.training.gradients.size(), updates);
  EXPECT_EQ(four.training.graph.layers.size() - four.first_update_layer, updates);
  // The loss and each gradient are added three times. One layer reads weights alone.
  EXPECT_EQ(four.first_update_layer, 4 * one.first_update_layer + 3 * (updates + 1) - 3);
  EXPECT_THAT(four.training.repeated, SizeIs(3 * 2));  // images and targets
  EXPECT_EQ(four.training.graph.inputs.size(), one.training.graph.inputs.size() + 3 * 2);
  EXPECT_EQ(model::totals(four.training.graph).macs, 4 * model::totals(one.training.graph).macs);
}

TEST(TrainingStep, of_resnet50_moves_five_times_its_weights_in_the_update) {
  const TrainingStep step =
      training_step(model::read_graph(zoo::find("resnet50-v1")->build(1)), {}, {});
  std::int64_t bytes = 0;
  for (model::LayerId id = step.first_update_layer; id < step.training.graph.layers.size(); ++id) {
    const model::LayerCost& cost = step.training.graph.layers[id].cost;
    bytes += cost.input_bytes.value + cost.output_bytes.value;
  }
  std::int64_t weights = 0;
  for (const TrainingGraph::Gradient& each : step.training.gradients) {
    weights += model::byte_size(step.training.graph.values[each.parameter].type).value;
  }
  // Weights, gradient and momentum are read, weights and momentum written.
  EXPECT_EQ(bytes, 5 * weights);
}

}  // namespace
}  // namespace plumb::rewrite
