// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/output_difference.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/error.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

// Limits for whole models against the reference of the same graph, which rounds where the graph
// does. Measured on oneDNN, 12 models with random weights: at most 5e-6, 0.04 and 0.11.
constexpr double kFloats = 2e-4;
constexpr double kFewDigits = 0.1;  // bf16, f16, 8-bit floats, TF32
constexpr double kEightBits = 0.3;  // integers

}  // namespace

double largest_difference(std::span<const model::Tensor> outputs,
                          std::span<const model::Tensor> expected) {
  PLUMB_CHECK(outputs.size() == expected.size());
  double worst = 0.0;
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    if (!model::is_floating(expected[index].type.dtype)) {
      continue;
    }
    const ElementReader ours = reader_of(outputs[index].type.dtype);
    const ElementReader theirs = reader_of(expected[index].type.dtype);
    double magnitude = 0.0;
    double largest = 0.0;
    const auto count = static_cast<std::size_t>(element_count(expected[index].type));
    for (std::size_t i = 0; i < count; ++i) {
      const double wanted = theirs(expected[index].data.data(), i);
      magnitude = std::max(magnitude, std::abs(wanted));
      largest = std::max(largest, std::abs(ours(outputs[index].data.data(), i) - wanted));
    }
    worst = std::max(worst, magnitude > 0.0 ? largest / magnitude : largest);
  }
  return worst;
}

std::vector<double> distances_by_kind(std::span<const model::Tensor> outputs,
                                      std::span<const model::Tensor> expected,
                                      std::span<const std::size_t> kinds) {
  PLUMB_CHECK(outputs.size() == expected.size() && outputs.size() == kinds.size());
  struct Squares {
    double difference = 0.0;
    double size = 0.0;
  };
  std::vector<Squares> squares;
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    const ElementReader ours = reader_of(outputs[index].type.dtype);
    const ElementReader theirs = reader_of(expected[index].type.dtype);
    squares.resize(std::max(squares.size(), kinds[index] + 1));
    Squares& sums = squares[kinds[index]];
    const auto count = static_cast<std::size_t>(element_count(expected[index].type));
    for (std::size_t i = 0; i < count; ++i) {
      const double wanted = theirs(expected[index].data.data(), i);
      const double difference = ours(outputs[index].data.data(), i) - wanted;
      sums.difference += difference * difference;
      sums.size += wanted * wanted;
    }
  }
  std::vector<double> distances;
  for (const Squares& sums : squares) {
    distances.push_back(std::sqrt(sums.difference / (sums.size > 0.0 ? sums.size : 1.0)));
  }
  return distances;
}

Deviation worst_distance(std::span<const double> distances,
                         std::span<const double> rounding,
                         double most) {
  // On lenet, squeezenet1.1, shufflenet and mobilenet-v2 oneDNN's distances from the reference were
  // at most 1.4 times those that measure_rounding() found.
  constexpr double kOfRounding = 4.0;
  // Whatever explains it, a tenth is no answer in f32. With few digits most of a deep model's
  // gradient may be rounding, and zeros would be as near as 1.
  const double cap = most < kFewDigits ? 0.1 : 1.0;
  Deviation worst{0.0, most};
  for (std::size_t kind = 0; kind < distances.size(); ++kind) {
    const double explained = kind < rounding.size() ? kOfRounding * rounding[kind] : 0.0;
    const Deviation each{distances[kind], std::max(most, std::min(explained, cap))};
    if (!(each.error / each.most <= worst.error / worst.most)) {  // also what is not a number
      worst = each;
    }
  }
  return worst;
}

double tolerated_by_reference(const model::Graph& graph) {
  double most = kFloats;
  for (const model::Layer& layer : graph.layers) {
    most = layer.spec.math == model::MathClass::kStrict ||
                   layer.spec.math == model::MathClass::kDeterministic
               ? most
               : std::max(most, kFewDigits);
    for (const model::TensorType& output : layer.spec.outputs) {
      const bool eight =
          output.dtype == model::DataType::kS8 || output.dtype == model::DataType::kU8;
      const bool few = model::is_floating(output.dtype) && output.dtype != model::DataType::kF32 &&
                       output.dtype != model::DataType::kF64;
      most = std::max(most, eight ? kEightBits : few ? kFewDigits : most);
    }
  }
  return most;
}

double tolerated_difference(std::span<const model::Tensor> outputs, std::string_view type) {
  const bool rough =
      (type != "f32" && type != "f64") ||
      std::any_of(outputs.begin(), outputs.end(), [](const model::Tensor& output) {
        return model::is_floating(output.type.dtype) && output.type.dtype != model::DataType::kF32;
      });
  return rough ? 0.5 : 1e-3;
}

}  // namespace plumb::engine
