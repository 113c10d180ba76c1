// SPDX-License-Identifier: Apache-2.0
// Gradients of whole graphs, computed with the float64 reference: against central differences of
// the loss along random directions, and against PyTorch's autograd.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "harness/rewrite/gradient/training_graph.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "runners/engine/exec/reference_model.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::engine {
namespace {

using rewrite::GraphSketch;
using rewrite::Loss;
using rewrite::TrainingGraph;
using Dims = GraphSketch::Dims;
using LayerAttributes = std::map<std::string, model::Attribute>;
using Numbers = std::map<model::ValueId, std::vector<double>>;

constexpr std::int64_t kNo = 0;
constexpr std::int64_t kYes = 1;

constexpr std::size_t kTarget = 1000;  ///< of number(), as if it were a value

/// Number of an element that both languages can compute: tests/support/gradient_references.py.
double number(std::size_t value, std::size_t element) {
  return std::sin(1.7 * static_cast<double>(element) + 0.9 * static_cast<double>(value) + 0.3);
}

/// Graph whose gradients are examined, and how its numbers are made.
struct Example {
  std::string name;
  std::function<model::Graph()> build;
  Loss loss = Loss::kCrossEntropy;
  bool positive = false;  ///< weights lie in [0.5, 1.5]: arguments of logarithms and divisors
};

void PrintTo(const Example& example, std::ostream* out) {
  *out << example.name;
}

class Training {
 public:
  explicit Training(const Example& example)
      : made(
            rewrite::training_graph(rewrite::with_precision(example.build(), model::DataType::kF64),
                                    {.loss = example.loss})) {
    std::vector<bool> is_input(made.graph.values.size());
    for (const model::ValueId input : made.graph.inputs) {
      is_input[input] = true;
    }
    for (model::ValueId id = 0; id < made.graph.values.size(); ++id) {
      const model::Value& value = made.graph.values[id];
      if (value.producer) {
        continue;
      }
      std::vector<double> numbers(static_cast<std::size_t>(model::element_count(value.type)));
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = number(id, i);
        if (!model::is_floating(value.type.dtype)) {
          numbers[i] = static_cast<double>(3 * i % 5);  // of the rows of a table
        } else if (value.scalar) {
          numbers[i] = *value.scalar;
        } else if (example.positive && !is_input[id]) {
          numbers[i] = 1.0 + 0.5 * numbers[i];
        }
      }
      values[id] = numbers;
    }
    std::vector<double>& target = values.at(made.target);
    for (std::size_t i = 0; i < target.size(); ++i) {
      target[i] = 0.5 + 0.4 * number(kTarget, i);
    }
    for (const model::ValueId mask : made.masks) {
      for (double& kept : values.at(mask)) {
        kept = kept > -0.5 ? 1.25 : 0.0;
      }
    }
  }

  /// Returns the loss, then the gradients.
  std::vector<std::vector<double>> run(const Numbers& numbers) const {
    std::map<model::ValueId, model::Tensor> tensors;
    for (const auto& [id, list] : numbers) {
      tensors[id] = tensor_from(made.graph.values[id].type, list);
    }
    std::vector<model::Tensor> outputs;
    const results::Outcome outcome = reference_model_outputs(made.graph, tensors, outputs);
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    std::vector<std::vector<double>> result;
    for (const model::Tensor& output : outputs) {
      result.push_back(read_numbers(output));
    }
    return result;
  }

  double loss(const Numbers& numbers) const { return run(numbers).at(0).at(0); }

  TrainingGraph made;
  Numbers values;
};

/// Slope of the loss along one direction, by the gradients and by differences.
struct Slopes {
  double gradient = 0.0;
  double coarse = 0.0;
  double fine = 0.0;  ///< by half the step: it tells a corner between the points from an error
};

Slopes slopes_along(const Training& training, std::size_t direction) {
  constexpr double kStep = 2e-5;
  const std::vector<std::vector<double>> results = training.run(training.values);
  const auto moved = [&](double step) {
    Numbers numbers = training.values;
    for (const rewrite::ParameterGradient& each : training.made.gradients) {
      std::vector<double>& list = numbers.at(each.parameter);
      for (std::size_t i = 0; i < list.size(); ++i) {
        list[i] += step * number(100 * direction + each.parameter, 7 * i + direction);
      }
    }
    return training.loss(numbers);
  };
  Slopes slopes;
  for (std::size_t g = 0; g < training.made.gradients.size(); ++g) {
    const std::vector<double>& gradient = results.at(g + 1);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      slopes.gradient +=
          gradient[i] *
          number(100 * direction + training.made.gradients[g].parameter, 7 * i + direction);
    }
  }
  slopes.coarse = (moved(kStep) - moved(-kStep)) / (2.0 * kStep);
  slopes.fine = (moved(kStep / 2) - moved(-kStep / 2)) / kStep;
  return slopes;
}

/// Counts the directions of eight along which gradients and differences agree. Directions with a
/// corner between their points are left out of `tried`.
struct Agreement {
  int agreed = 0;
  int tried = 0;
};

Agreement compare_along_directions(const Training& training) {
  Agreement agreement;
  for (std::size_t direction = 1; direction <= 8; ++direction) {
    const Slopes slopes = slopes_along(training, direction);
    const double scale = std::fabs(slopes.fine) + 1e-3;
    if (std::fabs(slopes.coarse - slopes.fine) > 1e-6 * scale) {
      continue;
    }
    ++agreement.tried;
    agreement.agreed += std::fabs(slopes.gradient - slopes.fine) <= 2e-6 * scale ? 1 : 0;
  }
  return agreement;
}

model::Graph convolutions() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 3, 6, 6});
  const auto first = sketch.relu(sketch.batch_norm(sketch.conv(x, 6, 3)));
  const auto second = sketch.conv(first, 6, 3, true);
  const auto joined = sketch.relu(sketch.add(first, second));  // `first` has two readers
  const auto pooled = sketch.layer("max_pool",
                                   {joined},
                                   {4, 6, 3, 3},
                                   {{"ceil_mode", kNo},
                                    {"dilations", Dims{1, 1}},
                                    {"kernel", Dims{2, 2}},
                                    {"pads", Dims{0, 0, 0, 0}},
                                    {"strides", Dims{2, 2}}});
  const auto mean = sketch.layer("average_pool",
                                 {pooled},
                                 {4, 6, 1, 1},
                                 {{"ceil_mode", kNo},
                                  {"count_include_pad", kNo},
                                  {"dilations", Dims{1, 1}},
                                  {"kernel", Dims{3, 3}},
                                  {"pads", Dims{0, 0, 0, 0}},
                                  {"strides", Dims{1, 1}}});
  const auto logits = sketch.gemm(sketch.view(mean, {4, 6}), 5);
  const auto softmax = sketch.layer(
      "softmax", {logits}, {4, 5}, {{"axis", std::int64_t{1}}, {"coerce", kNo}, {"log", kNo}});
  return sketch.build({softmax});
}

model::Graph depthwise_and_lrn() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 4, 5, 5});
  const auto grouped = sketch.layer("conv",
                                    {x, sketch.weight({4, 1, 3, 3}), sketch.weight({4})},
                                    {4, 4, 3, 3},
                                    {{"dilations", Dims{1, 1}},
                                     {"group", std::int64_t{4}},
                                     {"pads", Dims{1, 1, 1, 1}},
                                     {"strides", Dims{2, 2}}});
  const auto normalized =
      sketch.layer("lrn",
                   {sketch.conv(grouped, 7, 1)},
                   {4, 7, 3, 3},
                   {{"alpha", 0.3}, {"beta", 0.75}, {"bias", 1.0}, {"size", std::int64_t{5}}});
  const auto sloped = sketch.layer("prelu", {normalized, sketch.weight({7, 1, 1})}, {4, 7, 3, 3});
  const auto wider = sketch.layer("conv_transpose",
                                  {sloped, sketch.weight({7, 2, 3, 3}), sketch.weight({2})},
                                  {4, 2, 5, 5},
                                  {{"dilations", Dims{1, 1}},
                                   {"group", std::int64_t{1}},
                                   {"output_padding", Dims{0, 0}},
                                   {"pads", Dims{1, 1, 1, 1}},
                                   {"strides", Dims{2, 2}}});
  return sketch.build({wider});
}

model::Graph attention_block() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 3, 8});
  const auto normalized =
      sketch.layer("layer_norm",
                   {sketch.matmul(x, 8), sketch.weight({8}), sketch.weight({8})},
                   {4, 3, 8},
                   {{"axis", std::int64_t{2}}, {"epsilon", 1e-5}});
  const auto heads = [&](model::ValueId from, const Dims& perm, const Dims& dims) {
    const auto apart = sketch.view(sketch.matmul(from, 8), {4, 3, 2, 4});
    return sketch.layer("transpose", {apart}, dims, {{"perm", perm}});
  };
  const auto q = heads(normalized, {0, 2, 1, 3}, {4, 2, 3, 4});
  const auto k = heads(normalized, {0, 2, 3, 1}, {4, 2, 4, 3});
  const auto v = heads(normalized, {0, 2, 1, 3}, {4, 2, 3, 4});
  const auto products = sketch.layer("matmul", {q, k}, {4, 2, 3, 3});
  const auto scores = sketch.mul(products, sketch.weight({}, 0.5));
  const auto shares = sketch.layer("softmax",
                                   {scores},
                                   {4, 2, 3, 3},
                                   {{"axis", std::int64_t{3}}, {"coerce", kNo}, {"log", kNo}});
  const auto mixed = sketch.layer("matmul", {shares, v}, {4, 2, 3, 4});
  const auto back = sketch.layer("transpose", {mixed}, {4, 3, 2, 4}, {{"perm", Dims{0, 2, 1, 3}}});
  const auto flat = sketch.view(back, {4, 3, 8});
  const auto joined = sketch.add(flat, sketch.weight({8}));
  return sketch.build({sketch.add(sketch.eltwise(joined, "gelu_erf"), normalized)});
}

model::Graph movements() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 6});
  const auto a = sketch.gemm(x, 6);
  const auto b = sketch.gemm(x, 4);
  const auto joined = sketch.layer("concat", {a, b}, {4, 10}, {{"axis", std::int64_t{1}}});
  const auto part = sketch.layer(
      "slice", {joined}, {4, 8}, {{"axes", Dims{1}}, {"starts", Dims{1}}, {"steps", Dims{1}}});
  const auto padded =
      sketch.layer("pad",
                   {part},
                   {4, 11},
                   {{"mode", std::string("constant")}, {"pads", Dims{0, 2, 0, 1}}, {"value", 0.7}});
  const auto tiled = sketch.layer("tile", {padded}, {8, 33}, {{"repeats", Dims{2, 3}}});
  const auto wide = sketch.layer("expand", {sketch.weight({1, 33})}, {8, 33});
  const auto swapped =
      sketch.layer("transpose", {sketch.mul(tiled, wide)}, {33, 8}, {{"perm", Dims{1, 0}}});
  return sketch.build({swapped});
}

model::Graph space_and_depth() {
  GraphSketch sketch;
  const auto x = sketch.conv(sketch.input({4, 2, 4, 4}), 8, 1, true);
  const auto wide = sketch.layer("depth_to_space",
                                 {x},
                                 {4, 2, 8, 8},
                                 {{"block", std::int64_t{2}}, {"mode", std::string("dcr")}});
  const auto mixed = sketch.conv(wide, 2, 3);
  const auto deep =
      sketch.layer("space_to_depth", {mixed}, {4, 8, 4, 4}, {{"block", std::int64_t{2}}});
  // An even number of channels: the window reaches further to one side.
  return sketch.build(
      {sketch.layer("lrn",
                    {deep},
                    {4, 8, 4, 4},
                    {{"alpha", 0.2}, {"beta", 0.5}, {"bias", 2.0}, {"size", std::int64_t{4}}})});
}

model::Graph arithmetic() {
  GraphSketch sketch;
  const auto x = sketch.eltwise(sketch.input({4, 5}), "sigmoid");
  const auto a = sketch.mul(x, sketch.weight({5}));
  const auto b = sketch.add(sketch.binary("div", a, sketch.weight({4, 1})), sketch.weight({4, 5}));
  const auto c = sketch.binary("pow", b, sketch.weight({5}));
  const auto d = sketch.binary("max", c, sketch.weight({5}));
  const auto e = sketch.binary("min", d, sketch.binary("sub", sketch.weight({5}), a));
  const auto mean = sketch.mean(e);
  const auto f = sketch.binary("sub", e, mean);
  const auto norm = sketch.layer(
      "reduce", {f}, {4}, {{"axes", Dims{1}}, {"fn", std::string("l2")}, {"keepdims", kNo}});
  const auto sum = sketch.layer("sum", {f, e, c}, {4, 5});
  return sketch.build(
      {sketch.binary("div", sum, sketch.view(sketch.eltwise(norm, "exp"), {4, 1}))});
}

/// Rows of two tables, some of them several times, and one of them behind its first axis.
model::Graph embeddings() {
  GraphSketch sketch;
  const auto words = sketch.input({4, 3}, model::DataType::kS64);
  const LayerAttributes rows{{"axis", std::int64_t{0}}, {"distribution", std::string("uniform")}};
  const LayerAttributes inner{{"axis", std::int64_t{1}}, {"distribution", std::string("uniform")}};
  const auto first = sketch.layer("gather", {sketch.weight({6, 5}), words}, {4, 3, 5}, rows);
  const auto second =
      sketch.layer("gather", {sketch.weight({4, 7, 5}), words}, {4, 4, 3, 5}, inner);
  return sketch.build({sketch.mul(second, first)});
}

/// Normalisation of each channel of each sample, and elements that are repeated.
model::Graph instances() {
  GraphSketch sketch;
  const auto x = sketch.conv(sketch.input({4, 2, 3, 3}), 3, 3);
  const auto normalized = sketch.layer("instance_norm",
                                       {x, sketch.weight({3}), sketch.weight({3})},
                                       {4, 3, 3, 3},
                                       {{"epsilon", 1e-5}});
  const auto wide = sketch.layer("resize",
                                 {normalized},
                                 {4, 3, 6, 9},
                                 {{"antialias", kNo},
                                  {"coordinates", std::string("asymmetric")},
                                  {"cubic_a", -0.75},
                                  {"exclude_outside", kNo},
                                  {"mode", std::string("nearest")},
                                  {"nearest_mode", std::string("floor")},
                                  {"scales", std::vector<double>{1.0, 1.0, 2.0, 3.0}}});
  return sketch.build({sketch.conv(wide, 2, 3, true)});
}

/// A weight that two layers read, one of them transposed.
model::Graph shared_weights() {
  GraphSketch sketch;
  const auto x = sketch.input({4, 6});
  const auto w = sketch.weight({6, 6});
  const auto first =
      sketch.layer("gemm",
                   {x, w, sketch.weight({6})},
                   {4, 6},
                   {{"alpha", 0.5}, {"beta", 2.0}, {"trans_a", kNo}, {"trans_b", kYes}});
  const auto second = sketch.layer("matmul", {sketch.eltwise(first, "tanh"), w}, {4, 6});
  const auto third =
      sketch.layer("gemm",
                   {w, second},
                   {6, 4},
                   {{"alpha", 1.0}, {"beta", 1.0}, {"trans_a", kYes}, {"trans_b", kYes}});
  return sketch.build({third});
}

const std::vector<Example>& examples() {
  static const std::vector<Example> all{
      {"convolutions", convolutions},
      {"depthwise_and_lrn", depthwise_and_lrn, Loss::kMeanSquaredError},
      {"attention_block", attention_block},
      {"movements", movements},
      {"space_and_depth", space_and_depth, Loss::kMeanSquaredError},
      {"arithmetic", arithmetic, Loss::kMeanSquaredError, true},
      {"shared_weights", shared_weights},
      {"instances", instances, Loss::kMeanSquaredError},
      {"embeddings", embeddings, Loss::kMeanSquaredError},
  };
  return all;
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
  EXPECT_EQ(agreement.agreed, agreement.tried);
}

TEST_P(TrainingGradients, have_the_extents_of_their_weights) {
  const Training training(GetParam());
  EXPECT_FALSE(training.made.gradients.empty());
  for (const rewrite::ParameterGradient& each : training.made.gradients) {
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

TEST(TrainingFaults, a_dropped_term_of_a_fan_out_is_noticed) {
  Training training(examples().front());
  model::Layer* const sum = find_backward(training.made, [](const model::Layer& layer) {
    return layer.spec.op == "binary" && layer.spec.text("fn") == "add";
  });
  ASSERT_NE(sum, nullptr);
  sum->spec.attributes["fn"] = std::string("max");
  sum->inputs[1] = sum->inputs[0];  // the larger of a term and itself
  const Agreement agreement = compare_along_directions(training);
  EXPECT_GE(agreement.tried, 6);
  EXPECT_EQ(agreement.agreed, 0);
}

TEST(TrainingFaults, stored_statistics_instead_of_the_batch_s_are_noticed) {
  Training training(examples().front());
  model::Layer* const norm = find_backward(training.made, [](const model::Layer& layer) {
    return layer.spec.op == "batch_norm_backward";
  });
  ASSERT_NE(norm, nullptr);
  std::swap(norm->inputs[3], norm->inputs[4]);
  const Agreement agreement = compare_along_directions(training);
  EXPECT_GE(agreement.tried, 6);
  EXPECT_EQ(agreement.agreed, 0);
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

}  // namespace
}  // namespace plumb::engine
