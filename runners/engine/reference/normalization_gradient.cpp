// SPDX-License-Identifier: Apache-2.0
// Ioffe & Szegedy 2015, §3, and Ba et al. 2016 with the same algebra: of y = x̂·scale + bias with
// x̂ = (x − mean) ÷ √(variance + ε), and g = dy·scale over the m numbers that share mean and
// variance: dx = (g − Σg ÷ m − x̂·Σ(g·x̂) ÷ m) ÷ √(variance + ε).
#include <cmath>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

enum Operand : std::size_t { kGradient, kData, kScale, kMean, kVariance };

/// Indices of an element's set and of its parameter. The numbers of a set share a mean.
struct Membership {
  std::size_t set = 0;
  std::size_t parameter = 0;
};

template <typename Belongs>
std::vector<Numbers> normalization_gradient(const model::LayerSpec& spec,
                                            Operands operands,
                                            Belongs&& membership_of) {
  const double epsilon = spec.real("epsilon");
  const std::vector<double>& x = operands[kData].values;
  const std::vector<double>& dy = operands[kGradient].values;
  const std::size_t sets = operands[kMean].values.size();
  std::vector<Numbers> results{
      zeros_like_output(spec, 0), zeros_like_output(spec, 1), zeros_like_output(spec, 2)};
  std::vector<double> sums(sets);
  std::vector<double> products(sets);
  const auto normalized = [&](std::size_t i, std::size_t set) {
    return (x[i] - operands[kMean].values[set]) /
           std::sqrt(operands[kVariance].values[set] + epsilon);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Membership at = membership_of(i);
    const double unit = normalized(i, at.set);
    const double g = dy[i] * operands[kScale].values[at.parameter];
    sums[at.set] += g;
    products[at.set] += g * unit;
    results[1].values[at.parameter] += dy[i] * unit;
    results[2].values[at.parameter] += dy[i];
  }
  const double count = static_cast<double>(x.size()) / static_cast<double>(sets);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Membership at = membership_of(i);
    const double g = dy[i] * operands[kScale].values[at.parameter];
    results[0].values[i] =
        (g - sums[at.set] / count - normalized(i, at.set) * products[at.set] / count) /
        std::sqrt(operands[kVariance].values[at.set] + epsilon);
  }
  return results;
}

void require_shapes(const model::LayerSpec& spec,
                    Operands operands,
                    const Dims& row,
                    const Dims& sets) {
  const Dims& x = operands[kData].dims;
  require(spec.outputs.size() == 3 && operands[kGradient].dims == x && spec.outputs[0].dims == x,
          spec,
          "x and the gradients differ in shape");
  require(operands[kScale].dims == row && spec.outputs[1].dims == row &&
              spec.outputs[2].dims == row && operands[kMean].dims == sets &&
              operands[kVariance].dims == sets,
          spec,
          "scale, mean or variance do not fit x");
}

}  // namespace

std::vector<Numbers> batch_normalization_of_batch(const model::LayerSpec& spec, Operands operands) {
  const Numbers& x = operands[0];
  std::vector<Numbers> results{x, zeros_like_output(spec, 1), zeros_like_output(spec, 2)};
  std::vector<double>& mean = results[1].values;
  std::vector<double>& variance = results[2].values;
  const auto plane = static_cast<std::size_t>(product(x.dims, 2, x.dims.size()));
  const auto channel = [&](std::size_t i) { return i / plane % mean.size(); };
  const double count = static_cast<double>(x.values.size()) / static_cast<double>(mean.size());
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    mean[channel(i)] += x.values[i] / count;
  }
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double distance = x.values[i] - mean[channel(i)];
    variance[channel(i)] += distance * distance / count;
  }
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const std::size_t c = channel(i);
    results[0].values[i] = (x.values[i] - mean[c]) / std::sqrt(variance[c] + spec.real("epsilon")) *
                               operands[1].values[c] +
                           operands[2].values[c];
  }
  return results;
}

std::vector<Numbers> batch_normalization_gradient(const model::LayerSpec& spec, Operands operands) {
  const Dims& x = operands[kData].dims;
  require(x.size() >= 2, spec, "x has no channel axis");
  require_shapes(spec, operands, {x[1]}, {x[1]});
  const auto inner = static_cast<std::size_t>(product(x, 2, x.size()));
  const auto channels = static_cast<std::size_t>(x[1]);
  return normalization_gradient(spec, operands, [&](std::size_t i) {
    const std::size_t channel = i / inner % channels;
    return Membership{channel, channel};
  });
}

std::vector<Numbers> layer_normalization_gradient(const model::LayerSpec& spec, Operands operands) {
  const Dims& x = operands[kData].dims;
  const std::int64_t axis = spec.integer("axis");
  require(axis >= 0 && axis < static_cast<std::int64_t>(x.size()), spec, "axis lies outside x");
  Dims sets(x.begin(), x.begin() + axis);
  sets.resize(x.size(), 1);
  require_shapes(spec, operands, Dims(x.begin() + axis, x.end()), sets);
  const auto size = static_cast<std::size_t>(product(x, static_cast<std::size_t>(axis), x.size()));
  return normalization_gradient(spec, operands, [&](std::size_t i) {
    return Membership{i / size, i % size};
  });
}

}  // namespace plumb::engine::reference
