// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/quantized_constants.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "runners/engine/number_formats.hpp"

namespace plumb {
namespace {

constexpr double kLargestSigned = 127.0;  // -128 stays unused: the grid is symmetric
constexpr double kLargestUnsigned = 255.0;

double step_of(double magnitude, double largest) {
  return magnitude > 0.0 ? magnitude / largest : 1.0;
}

void quantize_weights(const QuantizedWeights& weights,
                      const Graph& graph,
                      const Tensor& before,
                      std::map<ValueId, Tensor>& made) {
  const TensorType& type = graph.values[weights.quantized].type;
  const TensorType& scale_type = graph.values[weights.scale].type;
  const auto channels = static_cast<std::size_t>(element_count(scale_type));
  const std::vector<double> numbers = numbers_of(before);
  const std::size_t rest = channels == 0 ? 0 : numbers.size() / channels;
  // Before quantisation, channels are rows, unless they are the columns of an untransposed matrix.
  const auto channel_of = [&](std::size_t i) { return weights.columns ? i % channels : i / rest; };
  std::vector<double> scales(channels, 0.0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double& largest = scales[channel_of(i)];
    largest = std::max(largest, std::fabs(numbers[i]));
  }
  for (double& scale : scales) {
    scale = static_cast<double>(static_cast<float>(step_of(scale, kLargestSigned)));
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

double magnitude_of(const Tensor& tensor) {
  double largest = 0.0;
  const ElementReader read = reader_of(tensor.type.dtype);
  const auto count = static_cast<std::size_t>(element_count(tensor.type));
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(read(tensor.data.data(), i)));
  }
  return largest;
}

std::optional<ValueId> quantize_constants(const FusedGraph& graph,
                                          const ConstantFinder& find,
                                          const Magnitudes& magnitudes,
                                          std::map<ValueId, Tensor>& made) {
  for (const ActivationGrid& grid : graph.quantization.activations) {
    double largest = 0.0;
    for (const ValueId value : grid.of) {
      const auto found = magnitudes.find(value);
      if (found == magnitudes.end()) {
        return value;
      }
      largest = std::max(largest, found->second);
    }
    const double step =
        step_of(largest, grid.type == DataType::kU8 ? kLargestUnsigned : kLargestSigned);
    made.insert_or_assign(grid.scale,
                          tensor_from(graph.graph.values[grid.scale].type, std::vector{step}));
  }
  for (const QuantizedWeights& weights : graph.quantization.weights) {
    const Tensor* const before = find(weights.weights);
    if (before == nullptr) {
      return weights.weights;
    }
    quantize_weights(weights, graph.graph, *before, made);
  }
  return std::nullopt;
}

}  // namespace plumb
