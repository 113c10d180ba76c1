// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/quantized_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

constexpr double kLargestSigned = 127.0;  // -128 stays unused: the grid is symmetric
constexpr double kLargestUnsigned = 255.0;

double compute_step(double magnitude, double largest) {
  return magnitude > 0.0 ? magnitude / largest : 1.0;
}

void quantize_weights(const rewrite::QuantizedWeights& weights,
                      const model::Graph& graph,
                      const model::Tensor& before,
                      std::map<model::ValueId, model::Tensor>& made) {
  const model::TensorType& type = graph.values[weights.quantized].type;
  const model::TensorType& scale_type = graph.values[weights.scale].type;
  const auto channels = static_cast<std::size_t>(element_count(scale_type));
  const std::vector<double> numbers = read_numbers(before);
  const std::size_t rest = channels == 0 ? 0 : numbers.size() / channels;
  // Before quantisation, channels are rows, unless they are the columns of an untransposed matrix.
  const auto channel_of = [&](std::size_t i) { return weights.columns ? i % channels : i / rest; };
  std::vector<double> scales(channels, 0.0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double& largest = scales[channel_of(i)];
    largest = std::max(largest, std::fabs(numbers[i]));
  }
  for (double& scale : scales) {
    scale = static_cast<double>(static_cast<float>(compute_step(scale, kLargestSigned)));
  }
  std::vector<double> rounded(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t channel = channel_of(i);
    const std::size_t to = weights.turned ? i % rest * channels + channel : i;
    rounded[to] =
        std::clamp(std::nearbyint(numbers[i] / scales[channel]), -kLargestSigned, kLargestSigned);
  }
  made.insert_or_assign(weights.quantized, tensor_from(type, rounded));
  made.insert_or_assign(weights.scale, tensor_from(scale_type, scales));
}

}  // namespace

results::Outcome unknown_value(const model::Graph& graph, model::ValueId value) {
  return {results::Outcome::Kind::kUnsupported,
          fmt::format("the elements of '{}' are not known: the model does not contain them and no "
                      "layer computes them",
                      graph.values.at(value).name)};
}

double compute_magnitude(const model::Tensor& tensor) {
  double largest = 0.0;
  const ElementReader read = reader_of(tensor.type.dtype);
  const auto count = static_cast<std::size_t>(element_count(tensor.type));
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(read(tensor.data.data(), i)));
  }
  return largest;
}

std::optional<model::ValueId> quantize_constants(const rewrite::FusedGraph& graph,
                                                 const ConstantFinder& find,
                                                 const Magnitudes& magnitudes,
                                                 std::map<model::ValueId, model::Tensor>& made) {
  for (const rewrite::ActivationGrid& grid : graph.quantization.activations) {
    double largest = 0.0;
    for (const model::ValueId value : grid.of) {
      const auto found = magnitudes.find(value);
      if (found == magnitudes.end()) {
        return value;
      }
      largest = std::max(largest, found->second);
    }
    const double step = compute_step(
        largest, grid.type == model::DataType::kU8 ? kLargestUnsigned : kLargestSigned);
    made.insert_or_assign(grid.scale,
                          tensor_from(graph.graph.values[grid.scale].type, std::vector{step}));
  }
  for (const rewrite::QuantizedWeights& weights : graph.quantization.weights) {
    const model::Tensor* const before = find(weights.weights);
    if (before == nullptr) {
      return weights.weights;
    }
    quantize_weights(weights, graph.graph, *before, made);
  }
  return std::nullopt;
}

}  // namespace plumb::engine
