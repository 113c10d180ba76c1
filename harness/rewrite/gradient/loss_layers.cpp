// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/loss_layers.hpp"

#include <fmt/format.h>

#include <numeric>

#include "harness/base/error.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
namespace {

using Dims = LayerWriter::Dims;

/// Value whose rows are turned into logarithms of probabilities.
struct Logits {
  model::ValueId value = 0;
  LayerWriter::Attributes softmax;
  bool done = false;  ///< the model takes the logarithms itself
};

/// Finds what a model's last softmax reads. Without one it is the result, along its channels or
/// its last axis.
Logits find_logits(const model::Graph& graph, model::ValueId result) {
  const model::Value& value = graph.values[result];
  if (value.producer && graph.layers[*value.producer].spec.op == "softmax") {
    const model::Layer& layer = graph.layers[*value.producer];
    Logits logits{layer.inputs.front().value(), layer.spec.attributes, false};
    if (layer.spec.integer("log") != 0) {
      logits.value = result;
      logits.done = true;
    }
    return logits;
  }
  const std::size_t rank = value.type.dims.size();
  const std::size_t axis = rank >= 4 ? 1 : rank - 1;
  return {result, {{"axis", static_cast<std::int64_t>(axis)}, {"coerce", std::int64_t{0}}}, false};
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

}  // namespace

LossLayers add_loss_layers(model::Graph& graph, Loss loss, model::ValueId result, double share) {
  const model::TensorType type = graph.values.at(result).type;
  if (!model::is_floating(type.dtype) || type.dims.empty() || model::element_count(type) == 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("the model's result '{}' is {} of rank {}, and a loss needs floating "
                            "numbers",
                            graph.values[result].name,
                            to_text(type.dtype),
                            type.dims.size()));
  }
  LayerWriter writer(graph);
  writer.name(std::string(to_text(loss)));
  LossLayers layers;
  layers.target = graph.values.size();
  graph.values.push_back({"target", {.dtype = type.dtype, .dims = type.dims}, {}, {}});
  graph.inputs.push_back(layers.target);
  if (loss == Loss::kMeanSquaredError) {
    const auto count = static_cast<double>(model::element_count(type));
    const model::ValueId difference = writer.binary("sub", result, layers.target);
    const model::ValueId squares = total(writer, writer.binary("mul", difference, difference));
    layers.loss = writer.scaled(squares, share / count);
    layers.of = result;
    layers.gradient = writer.scaled(difference, 2.0 * share / count);
    return layers;
  }
  Logits logits = find_logits(graph, result);
  logits.softmax["log"] = std::int64_t{1};
  const model::ValueId logarithms =
      logits.done ? logits.value
                  : writer.layer("softmax", {logits.value}, type.dims, logits.softmax);
  const ClassAxis classes = class_axis(type.dims, logits.softmax);
  layers.classes = classes;
  const double factor = -share / static_cast<double>(classes.outer * classes.inner);
  layers.loss =
      writer.scaled(total(writer, writer.binary("mul", layers.target, logarithms)), factor);
  const model::ValueId slope = writer.scaled(layers.target, factor);
  layers.of = logits.value;
  layers.gradient =
      logits.done
          ? slope
          : writer.layer("softmax_backward", {slope, logarithms}, type.dims, logits.softmax);
  return layers;
}

}  // namespace plumb::rewrite
