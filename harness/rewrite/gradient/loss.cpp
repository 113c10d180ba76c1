// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/loss.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
namespace {

constexpr std::array<std::string_view, 3> kNames{
    "cross_entropy", "binary_cross_entropy", "mean_squared_error"};

using Dims = LayerWriter::Dims;

/// Value whose rows are turned into logarithms of probabilities.
struct Logits {
  model::ValueId value = 0;
  LayerWriter::Attributes softmax;
  bool done = false;  ///< the model takes the logarithms itself
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

/// Finds what a model's last softmax reads. Without one it is the result, along its channels or
/// its last axis.
Logits find_logits(const model::Graph& graph, model::ValueId result) {
  if (const model::Layer* const layer = find_producer(graph, result, "softmax")) {
    const bool done = layer->spec.integer("log") != 0;
    return {done ? result : layer->inputs.front().value(), layer->spec.attributes, done};
  }
  const std::size_t rank = graph.values[result].type.dims.size();
  return {result, softmax_along(rank >= 4 ? 1 : rank - 1), false};
}

/// Returns what a model's last sigmoid reads. Without one it is the result.
model::ValueId before_sigmoid(const model::Graph& graph, model::ValueId result) {
  const model::Layer* const layer = find_producer(graph, result, "eltwise");
  return layer != nullptr && layer->spec.text("fn") == "sigmoid" ? layer->inputs.front().value()
                                                                 : result;
}

ClassAxis class_axis(const Dims& dims, const LayerWriter::Attributes& softmax) {
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

/// Adds layers of a cross-entropy of logits to `layers`.
void add_cross_entropy(model::Graph& graph,
                       LayerWriter& writer,
                       Logits logits,
                       const LossFactors& factors,
                       LossLayers& layers) {
  const Dims dims = writer.dims(logits.value);
  const ClassAxis classes = class_axis(dims, logits.softmax);
  if (classes.classes == 1) {
    throw Error(Error::Kind::kUser,
                fmt::format("the cross-entropy of one class is 0 whatever '{}' computes; take "
                            "binary_cross_entropy or mean_squared_error",
                            graph.name));
  }
  layers.classes = classes;
  layers.target = add_target(graph, writer.type(logits.value), dims);
  logits.softmax["log"] = std::int64_t{1};
  const model::ValueId logarithms =
      logits.done ? logits.value : writer.layer("softmax", {logits.value}, dims, logits.softmax);
  const double factor = -factors.share / static_cast<double>(classes.outer * classes.inner);
  layers.loss =
      writer.scaled(total(writer, writer.binary("mul", layers.target, logarithms)), factor);
  const model::ValueId slope = scaled_up(writer, writer.scaled(layers.target, factor), factors);
  layers.of = logits.value;
  layers.gradient =
      logits.done ? slope
                  : writer.layer("softmax_backward", {slope, logarithms}, dims, logits.softmax);
}

/// Adds layers of a cross-entropy of two classes for each number of `of` to `layers`.
void add_binary_cross_entropy(model::Graph& graph,
                              LayerWriter& writer,
                              model::ValueId of,
                              const LossFactors& factors,
                              LossLayers& layers) {
  const std::int64_t count = model::element_count(graph.values[of].type);
  const model::ValueId pairs = writer.pad(writer.view(of, {count, 1}), {0, 1}, {count, 2});
  add_cross_entropy(graph, writer, {pairs, softmax_along(1), false}, factors, layers);
  const model::ValueId second = writer.slice(layers.gradient, {0, 1}, {count, 1});
  layers.gradient = writer.view(second, writer.dims(of));
  layers.of = of;
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
  LayerWriter writer(graph);
  writer.name(std::string(to_text(layers.kind)));
  if (layers.kind == Loss::kCrossEntropy) {
    add_cross_entropy(graph, writer, find_logits(graph, result), factors, layers);
  } else if (layers.kind == Loss::kBinaryCrossEntropy) {
    add_binary_cross_entropy(graph, writer, before_sigmoid(graph, result), factors, layers);
  } else {
    layers.target = add_target(graph, type.dtype, type.dims);
    const auto count = static_cast<double>(model::element_count(type));
    const model::ValueId difference = writer.binary("sub", result, layers.target);
    const model::ValueId squares = total(writer, writer.binary("mul", difference, difference));
    layers.loss = writer.scaled(squares, share / count);
    layers.of = result;
    layers.gradient = scaled_up(writer, writer.scaled(difference, 2.0 * share / count), factors);
  }
  return layers;
}

}  // namespace plumb::rewrite
