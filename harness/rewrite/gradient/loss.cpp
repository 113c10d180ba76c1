// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/loss.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
namespace {

constexpr std::array<std::string_view, 5> kNames{
    "cross_entropy", "binary_cross_entropy", "mean_squared_error", "focal", "dice_cross_entropy"};

using Dims = LayerWriter::Dims;

/// Value whose rows are turned into logarithms of probabilities.
struct Logits {
  model::ValueId value = 0;
  LayerWriter::Attributes softmax;
};

/// Returns the layer that makes a value, if it is of this kind.
const model::Layer* find_producer(const model::Graph& graph,
                                  model::ValueId value,
                                  std::string_view op) {
  const auto producer = graph.values[value].producer;
  const model::Layer* const layer = producer ? &graph.layers[*producer] : nullptr;
  return layer != nullptr && layer->spec.op == op ? layer : nullptr;
}

LayerWriter::Attributes softmax_along(std::size_t axis) {
  return {{"axis", static_cast<std::int64_t>(axis)}, {"coerce", std::int64_t{0}}};
}

/// Returns the softmax of a result that has none: along its channels or its last axis.
LayerWriter::Attributes usual_softmax(std::size_t rank) {
  return softmax_along(rank >= 4 ? 1 : rank - 1);
}

/// Finds what a model's last softmax reads. Without one it is the result.
Logits find_logits(const model::Graph& graph, model::ValueId result) {
  if (const model::Layer* const layer = find_producer(graph, result, "softmax")) {
    return {layer->inputs.front().value(), layer->spec.attributes};
  }
  return {result, usual_softmax(graph.values[result].type.dims.size())};
}

/// Returns what a model's last sigmoid reads. Without one it is the result.
model::ValueId before_sigmoid(const model::Graph& graph, model::ValueId result) {
  const model::Layer* const layer = find_producer(graph, result, "eltwise");
  return layer != nullptr && layer->spec.text("fn") == "sigmoid" ? layer->inputs.front().value()
                                                                 : result;
}

LossLayers::ClassAxis class_axis(const Dims& dims, const LayerWriter::Attributes& softmax) {
  const auto axis = dims.begin() + std::get<std::int64_t>(softmax.at("axis"));
  const auto product = [](auto from, auto to) {
    return std::accumulate(from, to, std::int64_t{1}, std::multiplies<>());
  };
  const auto end = std::get<std::int64_t>(softmax.at("coerce")) != 0 ? dims.end() : axis + 1;
  return {product(dims.begin(), axis), product(axis, end), product(end, dims.end())};
}

model::ValueId total(LayerWriter& writer, model::ValueId value) {
  Dims axes(writer.dims(value).size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return writer.reduce("sum", value, axes);
}

/// Returns the loss that a model's last layer asks for.
Loss loss_of_last_layer(const model::Graph& graph, model::ValueId result) {
  if (before_sigmoid(graph, result) != result) {
    return Loss::kBinaryCrossEntropy;
  }
  const Logits logits = find_logits(graph, result);
  const bool single = class_axis(graph.values[result].type.dims, logits.softmax).classes == 1;
  return single ? Loss::kMeanSquaredError : Loss::kCrossEntropy;
}

/// Adds an input for the target of a loss.
model::ValueId add_target(model::Graph& graph, model::DataType type, const Dims& dims) {
  const model::ValueId target = graph.values.size();
  graph.values.push_back({"target", {.dtype = type, .dims = dims}, {}, {}});
  graph.inputs.push_back(target);
  return target;
}

/// How much of a loss is minimised, and by what its gradient is multiplied.
struct LossFactors {
  double share = 1.0;
  std::optional<model::ValueId> scale;
};

/// Multiplies a gradient by the scale of the loss.
model::ValueId scaled_up(LayerWriter& writer, model::ValueId slope, const LossFactors& factors) {
  return factors.scale ? writer.binary("mul", slope, *factors.scale) : slope;
}

double row_count(const LossLayers::ClassAxis& classes) {
  return static_cast<double>(classes.outer * classes.inner);
}

/// Adds the target of a loss over classes to `layers`. Returns the logarithms of their
/// probabilities. Throws Error{kUser} for a single class.
model::ValueId add_logarithms(model::Graph& graph,
                              LayerWriter& writer,
                              Logits& logits,
                              LossLayers& layers) {
  const Dims dims = writer.dims(logits.value);
  layers.classes = class_axis(dims, logits.softmax);
  if (layers.classes->classes == 1) {
    throw Error(Error::Kind::kUser,
                fmt::format("the cross-entropy of one class is 0 whatever '{}' computes; take "
                            "binary_cross_entropy or mean_squared_error",
                            graph.name));
  }
  layers.target = add_target(graph, writer.type(logits.value), dims);
  logits.softmax["log"] = std::int64_t{1};
  return writer.layer("softmax", {logits.value}, dims, logits.softmax);
}

/// Adds the gradient by the logits to `layers`, of the one by logarithms of probabilities.
void add_gradient_by_logits(LayerWriter& writer,
                            const Logits& logits,
                            model::ValueId slope,
                            model::ValueId logarithms,
                            LossLayers& layers) {
  layers.of = logits.value;
  layers.gradient = writer.layer(
      "softmax_backward", {slope, logarithms}, writer.dims(logits.value), logits.softmax);
}

/// Adds layers of a cross-entropy of logits to `layers`.
void add_cross_entropy(model::Graph& graph,
                       LayerWriter& writer,
                       Logits logits,
                       const LossFactors& factors,
                       LossLayers& layers) {
  const model::ValueId logarithms = add_logarithms(graph, writer, logits, layers);
  const double factor = -factors.share / row_count(*layers.classes);
  layers.loss =
      writer.scaled(total(writer, writer.binary("mul", layers.target, logarithms)), factor);
  const model::ValueId slope = scaled_up(writer, writer.scaled(layers.target, factor), factors);
  add_gradient_by_logits(writer, logits, slope, logarithms, layers);
}

/// Adds layers of a cross-entropy of two classes for each number of `of` to `layers`.
void add_binary_cross_entropy(model::Graph& graph,
                              LayerWriter& writer,
                              model::ValueId of,
                              const LossFactors& factors,
                              LossLayers& layers) {
  const std::int64_t count = model::element_count(graph.values[of].type);
  const model::ValueId pairs = writer.pad(writer.view(of, {count, 1}), {0, 1}, {count, 2});
  add_cross_entropy(graph, writer, {pairs, softmax_along(1)}, factors, layers);
  const model::ValueId second = writer.slice(layers.gradient, {0, 1}, {count, 1});
  layers.gradient = writer.view(second, writer.dims(of));
  layers.of = of;
}

/// Adds layers of the focal loss of each number x of `of` to `layers`: the wrong answer has the
/// logit u, which is x or −x, and the loss is α(target) · sigmoid(u)² · softplus(u).
void add_focal_loss(model::Graph& graph,
                    LayerWriter& writer,
                    model::ValueId of,
                    const LossFactors& factors,
                    LossLayers& layers) {
  constexpr double kAlpha = 0.25;
  constexpr std::int64_t kAnchorsToAnObject = 1000;  // the paper's imbalance (section 3)
  const Dims dims = writer.dims(of);
  const std::int64_t samples = dims.front();
  const Dims rows{samples, model::element_count(graph.values[of].type) / samples};
  layers.classes = class_axis(dims, usual_softmax(dims.size()));
  layers.classes->rarity = kAnchorsToAnObject;
  layers.target = add_target(graph, writer.type(of), rows);
  const model::ValueId sign = writer.eltwise("linear", layers.target, {-2.0, 1.0});
  const model::ValueId wrong = writer.binary("mul", writer.view(of, rows), sign);
  const model::ValueId chance = writer.eltwise("sigmoid", wrong);
  const model::ValueId entropy = writer.eltwise("softplus", wrong);
  const model::ValueId alpha =
      writer.eltwise("linear", layers.target, {2.0 * kAlpha - 1.0, 1.0 - kAlpha});
  const model::ValueId objects = writer.eltwise("clip",
                                                writer.reduce("sum", layers.target, {1}),
                                                {1.0, std::numeric_limits<double>::infinity()});
  const model::ValueId focus = writer.binary("mul", alpha, writer.binary("mul", chance, chance));
  const model::ValueId weight = writer.binary("div", focus, objects);
  const double factor = factors.share / static_cast<double>(samples);
  layers.loss = writer.scaled(total(writer, writer.binary("mul", weight, entropy)), factor);
  // The slope of sigmoid(u)² · softplus(u) is sigmoid(u)² · (2 (1 − sigmoid(u)) softplus(u) +
  // sigmoid(u)).
  const model::ValueId of_focus =
      writer.binary("mul", writer.eltwise("linear", chance, {-2.0, 2.0}), entropy);
  const model::ValueId slope = writer.binary("mul", weight, writer.binary("add", of_focus, chance));
  const model::ValueId gradient = writer.scaled(writer.binary("mul", slope, sign), factor);
  layers.gradient = writer.view(scaled_up(writer, gradient, factors), dims);
  layers.of = of;
}

/// Adds layers of half a cross-entropy and half a Dice loss to `layers`. The overlap of a sample
/// and a class is (2·Σ t·p + ε) ÷ (Σ t + Σ p + ε), with targets t and probabilities p (mlcommons/
/// training, image_segmentation/pytorch/model/losses.py). The first class is the background.
void add_dice_cross_entropy(model::Graph& graph,
                            LayerWriter& writer,
                            const Logits& of,
                            const LossFactors& factors,
                            LossLayers& layers) {
  constexpr double kSmooth = 1e-6;
  constexpr std::size_t kClassAxis = 2;
  const Dims dims = writer.dims(of.value);
  const LossLayers::ClassAxis axis = class_axis(dims, of.softmax);
  // Classes along the first axis leave one sample.
  const std::int64_t samples = axis.outer == 1 ? 1 : dims.front();
  const Dims places{samples, axis.outer / samples, axis.classes, axis.inner};
  Logits logits{writer.view(of.value, places), softmax_along(kClassAxis)};
  const model::ValueId logarithms = add_logarithms(graph, writer, logits, layers);
  const model::ValueId probabilities = writer.eltwise("exp", logarithms);
  const model::ValueId hits = writer.binary("mul", layers.target, probabilities);

  const auto foreground = [&](model::ValueId sums) {
    return writer.slice(sums, {0, 0, 1, 0}, {samples, 1, axis.classes - 1, 1});
  };
  const auto summed = [&](model::ValueId value) { return writer.reduce("sum", value, {1, 3}); };
  const model::ValueId numerator =
      foreground(writer.eltwise("linear", summed(hits), {2.0, kSmooth}));
  const model::ValueId targets = summed(layers.target);
  const model::ValueId both = writer.binary("add", targets, summed(probabilities));
  const model::ValueId inverse =
      writer.eltwise("reciprocal", foreground(writer.eltwise("linear", both, {1.0, kSmooth})));
  const model::ValueId overlap = writer.binary("mul", numerator, inverse);

  const double half = factors.share / 2.0;
  const double of_overlap = -half / static_cast<double>(samples * (axis.classes - 1));
  const double of_rows = -half / row_count(axis);
  const model::ValueId dice = writer.eltwise("linear", total(writer, overlap), {of_overlap, half});
  const model::ValueId correct = total(writer, writer.binary("mul", layers.target, logarithms));
  // A difference: a sum would pass for that of two micro-batches (chains_of_step()).
  layers.loss = writer.binary("sub", dice, writer.scaled(correct, -of_rows));

  // The slope of an overlap by a probability is (2 t − overlap) ÷ (Σ t + Σ p + ε), and that of the
  // probability by its logarithm is the probability. The background has none.
  const auto with_background = [&](model::ValueId sums, double factor) {
    return writer.pad(writer.scaled(sums, factor), {0, 0, 1, 0}, {samples, 1, axis.classes, 1});
  };
  const model::ValueId of_hits =
      writer.binary("mul", hits, with_background(inverse, 2.0 * of_overlap));
  const model::ValueId of_sums = writer.binary(
      "mul", probabilities, with_background(writer.binary("mul", overlap, inverse), -of_overlap));
  const model::ValueId slope =
      writer.sum({of_hits, of_sums, writer.scaled(layers.target, of_rows)});
  add_gradient_by_logits(writer, logits, scaled_up(writer, slope, factors), logarithms, layers);
  layers.gradient = writer.view(layers.gradient, dims);
  layers.of = of.value;
}

/// Adds layers of the mean of (result − target)² to `layers`.
void add_mean_squared_error(model::Graph& graph,
                            LayerWriter& writer,
                            model::ValueId result,
                            const LossFactors& factors,
                            LossLayers& layers) {
  const model::TensorType type = graph.values[result].type;
  layers.target = add_target(graph, type.dtype, type.dims);
  const auto count = static_cast<double>(model::element_count(type));
  const model::ValueId difference = writer.binary("sub", result, layers.target);
  const model::ValueId squares = total(writer, writer.binary("mul", difference, difference));
  layers.loss = writer.scaled(squares, factors.share / count);
  layers.of = result;
  layers.gradient =
      scaled_up(writer, writer.scaled(difference, 2.0 * factors.share / count), factors);
}

}  // namespace

std::vector<std::string> loss_names() {
  return {kNames.begin(), kNames.end()};
}

std::string_view to_text(Loss loss) {
  return enum_text(kNames, loss);
}

std::optional<Loss> parse_loss(std::string_view text) {
  return parse_enum<Loss>(kNames, text);
}

LossLayers add_loss_layers(model::Graph& graph,
                           std::optional<Loss> asked,
                           model::ValueId result,
                           double share,
                           std::optional<model::ValueId> scale) {
  const model::TensorType type = graph.values.at(result).type;
  if (!model::is_floating(type.dtype) || type.dims.empty() || model::element_count(type) == 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model's result '{}' is {} of rank {}, and a loss needs floating "
                            "numbers",
                            graph.values[result].name,
                            to_text(type.dtype),
                            type.dims.size()));
  }
  const LossFactors factors{share, scale};
  LossLayers layers;
  layers.kind = asked.value_or(loss_of_last_layer(graph, result));
  const model::LayerId first = graph.layers.size();
  LayerWriter writer(graph);
  writer.name(std::string(to_text(layers.kind)));
  switch (layers.kind) {
    case Loss::kCrossEntropy:
      add_cross_entropy(graph, writer, find_logits(graph, result), factors, layers);
      break;
    case Loss::kBinaryCrossEntropy:
      add_binary_cross_entropy(graph, writer, before_sigmoid(graph, result), factors, layers);
      break;
    case Loss::kMeanSquaredError:
      add_mean_squared_error(graph, writer, result, factors, layers);
      break;
    case Loss::kFocal:
      add_focal_loss(graph, writer, before_sigmoid(graph, result), factors, layers);
      break;
    case Loss::kDiceCrossEntropy:
      add_dice_cross_entropy(graph, writer, find_logits(graph, result), factors, layers);
      break;
  }
  for (model::LayerId id = first; id < graph.layers.size(); ++id) {
    graph.layers[id].of_loss = true;
  }
  return layers;
}

}  // namespace plumb::rewrite
