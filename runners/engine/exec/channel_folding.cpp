// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/channel_folding.hpp"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

using Constants = std::map<model::ValueId, model::Tensor>;
using Numbers = std::vector<double>;

/// Coefficients of y = scale · x + shift, one pair for each channel.
struct ChannelMap {
  Numbers scale;
  Numbers shift;
};

std::optional<Numbers> per_channel(const Constants& constants,
                                   std::optional<model::ValueId> value,
                                   std::size_t channels) {
  const auto found = value ? constants.find(*value) : constants.end();
  if (found == constants.end()) {
    return std::nullopt;
  }
  Numbers numbers = read_numbers(found->second);
  if (numbers.size() == 1) {
    numbers.resize(channels, numbers.front());
  }
  PLUMB_CHECK(numbers.size() == channels);
  return numbers;
}

bool apply_batch_norm(const model::Layer& layer, const Constants& constants, ChannelMap& map) {
  const std::size_t channels = map.scale.size();
  const auto gamma = per_channel(constants, layer.inputs.at(1), channels);
  const auto beta = per_channel(constants, layer.inputs.at(2), channels);
  const auto mean = per_channel(constants, layer.inputs.at(3), channels);
  const auto variance = per_channel(constants, layer.inputs.at(4), channels);
  if (!gamma || !beta || !mean || !variance) {
    return false;
  }
  const double epsilon = layer.spec.real("epsilon");
  for (std::size_t i = 0; i < channels; ++i) {
    const double factor = (*gamma)[i] / std::sqrt((*variance)[i] + epsilon);
    map.scale[i] *= factor;
    map.shift[i] = (map.shift[i] - (*mean)[i]) * factor + (*beta)[i];
  }
  return true;
}

bool apply_binary(const model::Layer& layer, const Constants& constants, ChannelMap& map) {
  const std::size_t operand = layer.spec.inputs.at(0)->constant ? 0 : 1;
  const auto other = per_channel(constants, layer.inputs.at(operand), map.scale.size());
  if (!other) {
    return false;
  }
  const std::string& fn = layer.spec.text("fn");
  for (std::size_t i = 0; i < other->size(); ++i) {
    const double number = (*other)[i];
    if (fn == "mul" || fn == "div") {
      const double factor = fn == "mul" ? number : 1.0 / number;
      map.scale[i] *= factor;
      map.shift[i] *= factor;
    } else if (fn == "add") {
      map.shift[i] += number;
    } else {
      PLUMB_CHECK(fn == "sub");
      const double sign = operand == 0 ? -1.0 : 1.0;  // c - x, or x - c
      map.scale[i] *= sign;
      map.shift[i] = sign * (map.shift[i] - number);
    }
  }
  return true;
}

}  // namespace

bool fold_channels(const rewrite::ChannelFolding& folding,
                   const model::Graph& graph,
                   const Constants& constants,
                   Constants& folded) {
  const auto weights = constants.find(folding.weights);
  if (weights == constants.end()) {
    return false;
  }
  const model::TensorType& type = graph.values.at(folding.folded_weights).type;
  const auto channels = static_cast<std::size_t>(type.dims.at(0));
  ChannelMap map{Numbers(channels, 1.0), Numbers(channels, 0.0)};
  if (folding.bias) {
    std::optional<Numbers> bias = per_channel(constants, folding.bias, channels);
    if (!bias) {
      return false;
    }
    map.shift = std::move(*bias);
  }
  for (const model::Layer& layer : folding.layers) {
    if (!(layer.spec.op == "batch_norm" ? apply_batch_norm(layer, constants, map)
                                        : apply_binary(layer, constants, map))) {
      return false;
    }
  }
  Numbers scaled = read_numbers(weights->second);
  const std::size_t size = scaled.size() / channels;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    scaled[i] *= map.scale[i / size];
  }
  folded.insert_or_assign(folding.folded_weights, tensor_from(type, scaled));
  folded.insert_or_assign(folding.folded_bias,
                          tensor_from(graph.values.at(folding.folded_bias).type, map.shift));
  return true;
}

}  // namespace plumb::engine
