// SPDX-License-Identifier: Apache-2.0
// Gradients of whole graphs, computed with the float64 reference: against central differences of
// the loss along random directions, and against PyTorch's autograd.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/weights.hpp"
#include "harness/rewrite/gradient/training_graph.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/random_stream.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/engine/small_model.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"
#include "tests/unit/rewrite/training_example.hpp"

namespace plumb::engine {
namespace {

using rewrite::Example;
using rewrite::examples;
using rewrite::Numbers;
using rewrite::TrainingGraph;

/// Loss of a graph and its gradients in float64, with the numbers of what no layer computes.
class Training {
 public:
  explicit Training(const Example& example)
      : made(rewrite::training_graph(
            rewrite::with_precision(example.build(), model::DataType::kF64),
            {.loss = example.loss,
             .frozen = rewrite::frozen_values(example.build(), example.frozen)})) {
    values = rewrite::numbers_of_example(example, made);
    std::map<model::ValueId, model::Tensor> constants;
    for (const auto& [id, numbers] : values) {
      constants[id] = tensor_from(made.graph.values[id].type, numbers);
    }
    fold_constants(made.graph, constants);
    for (const auto& [id, tensor] : constants) {
      values[id] = read_numbers(tensor);
    }
  }

  /// Takes a step of training without its update, with the weights and inputs of a worker.
  explicit Training(const RequestedModel& model) : made(model.step()->training) {
    rewrite::FusedGraph exact;
    exact.graph = rewrite::with_precision(made.graph, model::DataType::kF64);
    auto& layers = exact.graph.layers;
    const std::size_t updates = model.step()->first_update_layer;
    layers.erase(layers.begin() + static_cast<std::ptrdiff_t>(updates), layers.end());
    exact.graph.outputs = {made.loss};
    for (const rewrite::TrainingGraph::Gradient& each : made.gradients) {
      exact.graph.outputs.push_back(each.gradient);
    }
    const std::vector<model::ValueId> wanted = operands_of(exact.graph);
    std::vector<model::Tensor> operands;
    const results::Outcome outcome = model.operands(exact, wanted, operands);
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      values[wanted[i]] = read_numbers(operands[i]);
      operands[i] = {};
    }
    made.graph = std::move(exact.graph);
  }

  /// Takes a built-in model that ends in a sigmoid, with the weights and inputs of a run. Every
  /// other label is true.
  explicit Training(onnx::ModelProto file) {
    constexpr std::uint64_t kSeed = 1;
    model::fill_weights(file, kSeed);
    model::LoadedModel loaded = model::load_model(file);
    fold_constants(loaded.graph, loaded.constants);
    const std::vector<model::Tensor> inputs = model_inputs(loaded.graph, kSeed);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      loaded.constants.insert_or_assign(loaded.graph.inputs[i], inputs[i]);
    }
    made =
        rewrite::training_graph(rewrite::with_precision(loaded.graph, model::DataType::kF64), {});
    for (const auto& [id, tensor] : loaded.constants) {
      values[id] = read_numbers(tensor);
    }
    std::vector<double>& target = values[made.target];
    target.resize(static_cast<std::size_t>(element_count(made.graph.values[made.target].type)));
    for (std::size_t row = 0; row < target.size() / 2; ++row) {
      target[2 * row + row % 2] = 1.0;
    }
  }

  /// Returns the loss, then the gradients.
  std::vector<std::vector<double>> run(const Numbers& numbers) const {
    return outputs_of(made.graph, numbers);
  }

  /// Computes the forward pass alone.
  double loss(const Numbers& numbers) const {
    model::Graph forward = made.graph;
    const auto backward = static_cast<std::ptrdiff_t>(made.first_backward_layer);
    forward.layers.erase(forward.layers.begin() + backward, forward.layers.end());
    forward.outputs = {made.loss};
    return outputs_of(forward, numbers).at(0).at(0);
  }

  TrainingGraph made;
  Numbers values;

 private:
  /// Lists the values that executed layers read and none of them makes.
  static std::vector<model::ValueId> operands_of(const model::Graph& graph) {
    std::set<model::ValueId> made;
    std::set<model::ValueId> operands;
    for (const model::Layer& layer : graph.layers) {
      for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
        if (layer.role != model::Layer::Role::kFolded && layer.spec.has_input(i) &&
            !made.contains(*layer.inputs[i])) {
          operands.insert(*layer.inputs[i]);
        }
      }
      if (layer.role != model::Layer::Role::kFolded) {
        made.insert(layer.outputs.begin(), layer.outputs.end());
      }
    }
    return {operands.begin(), operands.end()};
  }

  static std::vector<std::vector<double>> outputs_of(const model::Graph& graph,
                                                     const Numbers& numbers) {
    std::map<model::ValueId, model::Tensor> tensors;
    for (const auto& [id, list] : numbers) {
      tensors[id] = tensor_from(graph.values[id].type, list);
    }
    std::vector<model::Tensor> outputs;
    const results::Outcome outcome = reference_model_outputs(graph, tensors, outputs);
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    std::vector<std::vector<double>> result;
    for (const model::Tensor& output : outputs) {
      result.push_back(read_numbers(output));
    }
    return result;
  }
};

/// Returns a random direction, in which each weight moves by up to its tensor's root mean square.
Numbers direction_of(const Training& training, std::size_t number) {
  Numbers direction;
  for (const rewrite::TrainingGraph::Gradient& each : training.made.gradients) {
    const std::vector<double>& weights = training.values.at(each.parameter);
    double squares = 0.0;
    for (const double weight : weights) {
      squares += weight * weight;
    }
    const double size = std::sqrt(squares / static_cast<double>(weights.size()));
    const RandomStream random(number, each.parameter);
    std::vector<double>& moves = direction[each.parameter];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double drawn = static_cast<double>(random.bits(i) >> 11U) * 0x1p-52 - 1.0;
      moves.push_back(size * drawn);
    }
  }
  return direction;
}

/// Returns the loss where the weights are moved by a share of a direction.
double loss_at(const Training& training, const Numbers& direction, double share) {
  Numbers numbers = training.values;
  for (const auto& [parameter, moves] : direction) {
    std::vector<double>& weights = numbers.at(parameter);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] += share * moves[i];
    }
  }
  return training.loss(numbers);
}

/// Returns the slope of the loss by a central difference.
double difference_along(const Training& training, const Numbers& direction, double step) {
  return (loss_at(training, direction, step) - loss_at(training, direction, -step)) / (2.0 * step);
}

/// Returns the slope of the loss by the gradients, which follow it in `results`.
double slope_along(const Training& training,
                   const Numbers& direction,
                   const std::vector<std::vector<double>>& results) {
  double slope = 0.0;
  for (std::size_t g = 0; g < training.made.gradients.size(); ++g) {
    const std::vector<double>& gradient = results.at(g + 1);
    const std::vector<double>& moves = direction.at(training.made.gradients[g].parameter);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      slope += gradient[i] * moves.at(i);
    }
  }
  return slope;
}

/// Steps of central differences, and how far slopes may be from each other.
struct Precision {
  double step = 2e-5;
  int tries = 1;                ///< steps, each a tenth of that before
  double between_steps = 1e-6;  ///< beyond it, a corner lies between the points
  double of_gradient = 2e-6;
};

/// Slope by a central difference, and how much rounding may change it.
struct Difference {
  double slope = 0.0;
  double rounding = 0.0;
};

/// Computes the slope of the loss by the longest step with no corner between its points. Absent:
/// there is one at every try, or rounding changes more than a thousandth.
std::optional<Difference> difference_along(const Training& training,
                                           const Numbers& direction,
                                           double loss,
                                           const Precision& precision) {
  // Layers change slopes of inception-v2 by 1e-14 over the step, and the loss has a last bit.
  constexpr double kOfSlope = 4e-14;
  constexpr double kOfLoss = 4.0 * std::numeric_limits<double>::epsilon();
  double step = precision.step;
  for (int i = 0; i < precision.tries; ++i, step /= 10) {
    const double coarse = difference_along(training, direction, step);
    const double fine = difference_along(training, direction, step / 2);
    const double rounding = (kOfSlope * std::fabs(fine) + kOfLoss * loss) / step;
    if (rounding > 1e-3 * (std::fabs(fine) + 1e-3)) {
      break;
    }
    if (std::fabs(coarse - fine) <=
        std::max(precision.between_steps * (std::fabs(fine) + 1e-3), rounding)) {
      return Difference{fine, rounding};
    }
  }
  return std::nullopt;
}

/// Counts the directions of eight along which gradients and differences agree. Directions with a
/// corner between their points are left out of `tried`.
struct Agreement {
  int agreed = 0;
  int tried = 0;
  std::string disagreed;  ///< slopes by the gradients, and those by differences
};

Agreement compare_along_directions(const Training& training, const Precision& precision = {}) {
  const std::vector<std::vector<double>> results = training.run(training.values);
  Agreement agreement;
  for (std::size_t number = 1; number <= 8; ++number) {
    const Numbers direction = direction_of(training, number);
    const std::optional<Difference> difference =
        difference_along(training, direction, results.at(0).at(0), precision);
    if (!difference) {
      continue;
    }
    const double slope = slope_along(training, direction, results);
    const double most = std::max(precision.of_gradient * (std::fabs(difference->slope) + 1e-3),
                                 difference->rounding);
    ++agreement.tried;
    if (std::fabs(slope - difference->slope) <= most) {
      ++agreement.agreed;
    } else {
      agreement.disagreed += fmt::format("{:.9g} and {:.9g}; ", slope, difference->slope);
    }
  }
  return agreement;
}

class TrainingGradients : public ::testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(Graphs,
                         TrainingGradients,
                         ::testing::ValuesIn(examples()),
                         [](const auto& each) { return each.param.name; });

TEST_P(TrainingGradients, agree_with_central_differences) {
  const Training training(GetParam());
  EXPECT_EQ(training.made.missing, std::vector<std::string>{});
  EXPECT_TRUE(training.made.incomplete.empty());
  EXPECT_TRUE(training.made.unreached.empty());
  const Agreement agreement = compare_along_directions(training);
  EXPECT_GE(agreement.tried, 6) << "a corner lies between most points";
  EXPECT_EQ(agreement.agreed, agreement.tried) << agreement.disagreed;
}

// The loss that PyTorch calls BCEWithLogitsLoss, by its definition.
TEST(BinaryCrossEntropy, and_its_gradient_are_those_by_hand) {
  rewrite::GraphSketch sketch;
  const auto x = sketch.input({4, 3});
  const auto w = sketch.weight({3});
  const auto sigmoid = sketch.sigmoid(sketch.add(x, w));
  const Example example{
      "clicks", [&] { return sketch.build({sigmoid}); }, rewrite::Loss::kBinaryCrossEntropy};
  Training training(example);
  double loss = 0.0;
  std::vector<double> of_weight(3);
  for (std::size_t i = 0; i < 12; ++i) {
    const double logit = training.values.at(x)[i] + training.values.at(w)[i % 3];
    const double probability = 1.0 / (1.0 + std::exp(-logit));
    const double label = 0.1 + 0.05 * static_cast<double>(i);
    std::vector<double>& target = training.values.at(training.made.target);
    target.at(2 * i) = 1.0 - label;
    target.at(2 * i + 1) = label;
    loss -= (label * std::log(probability) + (1.0 - label) * std::log1p(-probability)) / 12.0;
    of_weight[i % 3] += (probability - label) / 12.0;
  }
  const std::vector<std::vector<double>> results = training.run(training.values);
  EXPECT_NEAR(results.at(0).at(0), loss, 1e-14);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(results.at(1).at(i), of_weight[i], 1e-14);
  }
}

// Along its own direction, in which the loss changes fastest.
TEST(BinaryCrossEntropy, trains_all_weights_of_dlrm_by_its_slope) {
  const Training training(zoo::find("dlrm-dcnv2")->build(4, {{"rows", 8}}));
  ASSERT_EQ(training.made.loss_kind, rewrite::Loss::kBinaryCrossEntropy);
  const std::vector<std::vector<double>> results = training.run(training.values);
  double square = 0.0;
  for (std::size_t g = 0; g < training.made.gradients.size(); ++g) {
    double own = 0.0;
    for (const double slope : results.at(g + 1)) {
      own += slope * slope;
    }
    EXPECT_GT(own, 0.0) << training.made.graph.values[training.made.gradients[g].parameter].name;
    square += own;
  }
  const auto moved = [&](double step) {
    Numbers numbers = training.values;
    for (std::size_t g = 0; g < training.made.gradients.size(); ++g) {
      std::vector<double>& weights = numbers.at(training.made.gradients[g].parameter);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] += step / square * results.at(g + 1)[i];
      }
    }
    return training.loss(numbers);
  };
  constexpr double kStep = 1e-6;  // of the loss
  EXPECT_NEAR((moved(kStep) - moved(-kStep)) / (2.0 * kStep), 1.0, 1e-6);
}

TEST_P(TrainingGradients, have_the_extents_of_their_weights) {
  const Training training(GetParam());
  EXPECT_FALSE(training.made.gradients.empty());
  for (const rewrite::TrainingGraph::Gradient& each : training.made.gradients) {
    EXPECT_EQ(training.made.graph.values[each.gradient].type.dims,
              training.made.graph.values[each.parameter].type.dims);
  }
}

/// Layer of a training graph that a test spoils.
model::Layer* find_backward(TrainingGraph& made,
                            const std::function<bool(const model::Layer&)>& wanted) {
  for (std::size_t id = made.first_backward_layer; id < made.graph.layers.size(); ++id) {
    if (wanted(made.graph.layers[id])) {
      return &made.graph.layers[id];
    }
  }
  return nullptr;
}

const Example& example_named(std::string_view name) {
  return *std::find_if(examples().begin(), examples().end(), [&](const Example& example) {
    return example.name == name;
  });
}

void expect_noticed(const Training& training) {
  const Agreement agreement = compare_along_directions(training);
  EXPECT_GE(agreement.tried, 6);
  EXPECT_EQ(agreement.agreed, 0);
}

TEST(TrainingFaults, a_dropped_term_of_a_fan_out_is_noticed) {
  Training training(examples().front());
  model::Layer* const sum = find_backward(training.made, [](const model::Layer& layer) {
    return layer.spec.op == "binary" && layer.spec.text("fn") == "add";
  });
  ASSERT_NE(sum, nullptr);
  sum->spec.attributes["fn"] = std::string("max");
  sum->inputs[1] = sum->inputs[0];  // the larger of a term and itself
  expect_noticed(training);
}

TEST(TrainingFaults, a_gradient_past_the_mask_of_a_dropout_is_noticed) {
  Training training(example_named("dropout"));
  const model::ValueId mask = training.made.masks.at(0);
  model::Layer* const product = find_backward(training.made, [&](const model::Layer& layer) {
    return layer.spec.op == "binary" && layer.inputs.at(1) == mask;
  });
  ASSERT_NE(product, nullptr);
  product->spec.attributes["fn"] = std::string("max");
  product->inputs[1] = product->inputs[0];
  expect_noticed(training);
}

TEST(TrainingFaults, stored_statistics_instead_of_the_batch_s_are_noticed) {
  Training training(examples().front());
  const model::Graph graph = examples().front().build();
  const auto inference =
      std::find_if(graph.layers.begin(), graph.layers.end(), [](const model::Layer& layer) {
        return layer.spec.op == "batch_norm";
      });
  ASSERT_NE(inference, graph.layers.end());
  model::Layer* const norm = find_backward(training.made, [](const model::Layer& layer) {
    return layer.spec.op == "batch_norm_backward";
  });
  ASSERT_NE(norm, nullptr);
  norm->inputs[3] = inference->inputs.at(3);
  norm->inputs[4] = inference->inputs.at(4);
  for (double& variance : training.values.at(inference->inputs.at(4).value())) {
    variance = 0.5 + variance * variance;
  }
  expect_noticed(training);
}

/// Returns the relative distance of two lists: the norm of the difference over that of the second.
double distance(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (found.at(i) - expected[i]) * (found.at(i) - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

TEST(TrainingReferences, agree_with_the_autograd_of_pytorch) {
  std::ifstream file(PLUMB_GRADIENT_REFERENCES);
  const nlohmann::json references = nlohmann::json::parse(file);
  std::size_t compared = 0;
  for (const Example& example : examples()) {
    if (!references.contains(example.name)) {
      continue;
    }
    const nlohmann::json& reference = references.at(example.name);
    const Training training(example);
    const std::vector<std::vector<double>> results = training.run(training.values);
    EXPECT_NEAR(results.at(0).at(0), reference.at("loss").get<double>(), 1e-12) << example.name;
    ASSERT_EQ(reference.at("gradients").size(), training.made.gradients.size()) << example.name;
    for (std::size_t i = 0; i < training.made.gradients.size(); ++i) {
      const std::string& name =
          training.made.graph.values[training.made.gradients[i].parameter].name;
      const auto expected = reference.at("gradients").at(name).get<std::vector<double>>();
      ASSERT_EQ(results.at(i + 1).size(), expected.size()) << example.name << " " << name;
      EXPECT_LE(distance(results.at(i + 1), expected), 1e-9) << example.name << " " << name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 20U);
}

class ModelGradients : public ::testing::TestWithParam<SmallModel> {};
INSTANTIATE_TEST_SUITE_P(
    Nightly, ModelGradients, ::testing::ValuesIn(small_models()), [](const auto& each) {
      std::string name = each.param.name;
      std::erase_if(name, [](unsigned char letter) { return std::isalnum(letter) == 0; });
      return name;
    });

TEST_P(ModelGradients, agree_with_central_differences) {
  const SmallModel& small = GetParam();
  worker::ExecuteRequest request;
  request.name = small.name;
  request.model = small_file(small);
  request.training = "sgd";
  RequestedModel model(request);
  model.fill();
  // Deep models have corners so near that only short steps miss them: ResNet-50 needs 1e-8, Tiny
  // YOLO 1e-9, ResNet-152 1e-10.
  const Precision precision{.step = 1e-8, .tries = 3, .between_steps = 1e-5, .of_gradient = 1e-5};
  const Agreement agreement = compare_along_directions(Training(model), precision);
  EXPECT_GE(agreement.tried, 4) << "a corner lies between most points";
  EXPECT_EQ(agreement.agreed, agreement.tried) << agreement.disagreed;
}

}  // namespace
}  // namespace plumb::engine
