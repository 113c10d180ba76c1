// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

struct Moments {
  double mean = 0.0;
  double variance = 0.0;  ///< of the population
};

Moments moments(std::span<const double> values) {
  Moments m;
  for (const double value : values) {
    m.mean += value;
  }
  m.mean /= static_cast<double>(values.size());
  for (const double value : values) {
    m.variance += (value - m.mean) * (value - m.mean);
  }
  m.variance /= static_cast<double>(values.size());
  return m;
}

Numbers copy_of_input(const model::LayerSpec& spec, Operands operands) {
  require(spec.outputs[0].dims == operands[0].dims, spec, "the output's shape is not the input's");
  return operands[0];
}

/// Throws Error{kUser} unless x has a channel axis and operands from `first` on have one number a
/// channel.
void require_channel_operands(const model::LayerSpec& spec, Operands operands, std::size_t first) {
  require(operands[0].dims.size() >= 2, spec, "x has no channel axis");
  for (std::size_t i = first; i < operands.size(); ++i) {
    require(operands[i].dims == Dims{operands[0].dims[1]},
            spec,
            "an operand does not hold one number for each channel");
  }
}

/// Normalizes each run of `size` consecutive elements to mean 0 and variance 1.
void normalize_runs(std::vector<double>& values, std::size_t size, double epsilon) {
  for (std::size_t first = 0; size > 0 && first < values.size(); first += size) {
    const std::span<double> run(values.data() + first, size);
    const Moments m = moments(run);
    const double scale = 1.0 / std::sqrt(m.variance + epsilon);
    for (double& value : run) {
      value = (value - m.mean) * scale;
    }
  }
}

/// Multiplies each channel by its scale and adds its bias.
void scale_channels(Numbers& y, const std::vector<double>& scale, const std::vector<double>& bias) {
  const auto size = static_cast<std::size_t>(product(y.dims, 2, y.dims.size()));
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::size_t channel = i / size % scale.size();
    y.values[i] = y.values[i] * scale[channel] + bias[channel];
  }
}

std::size_t trailing_size(const model::LayerSpec& spec, const Dims& dims) {
  const std::int64_t axis = spec.integer("axis");
  const auto rank = static_cast<std::int64_t>(dims.size());
  require(axis >= 0 && axis < rank, spec, "axis lies outside the input");
  return static_cast<std::size_t>(product(dims, static_cast<std::size_t>(axis), dims.size()));
}

}  // namespace

Numbers batch_normalization(const model::LayerSpec& spec, Operands operands) {
  Numbers y = copy_of_input(spec, operands);
  const Dims& x = y.dims;
  require(!x.empty(), spec, "x is a scalar");
  const bool spatial = spec.text("mode") == "spatial";
  // A one-dimensional x has one channel.
  const Dims channels = x.size() > 1 ? Dims{x[1]} : Dims{1};
  const Dims parameters = spatial ? channels : Dims(x.begin() + 1, x.end());
  for (std::size_t i = 1; i < 5; ++i) {
    require(operands[i].dims == parameters, spec, "scale, bias, mean or var has another shape");
  }
  const auto inner =
      spatial && x.size() > 2 ? static_cast<std::size_t>(product(x, 2, x.size())) : std::size_t{1};
  const double epsilon = spec.real("epsilon");
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::size_t channel = i / inner % operands[1].values.size();
    const double deviation = std::sqrt(operands[4].values[channel] + epsilon);
    y.values[i] =
        (y.values[i] - operands[3].values[channel]) / deviation * operands[1].values[channel] +
        operands[2].values[channel];
  }
  return y;
}

Numbers layer_normalization(const model::LayerSpec& spec, Operands operands) {
  Numbers y = copy_of_input(spec, operands);
  normalize_runs(y.values, trailing_size(spec, y.dims), spec.real("epsilon"));
  const Broadcast scale(spec, operands[1].dims, y.dims);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] *= operands[1].values[scale(i)];
  }
  if (spec.has_input(2)) {
    const Broadcast bias(spec, operands[2].dims, y.dims);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] += operands[2].values[bias(i)];
    }
  }
  return y;
}

Numbers rms_normalization(const model::LayerSpec& spec, Operands operands) {
  Numbers y = copy_of_input(spec, operands);
  const std::size_t size = trailing_size(spec, y.dims);
  const double epsilon = spec.real("epsilon");
  for (std::size_t first = 0; size > 0 && first < y.values.size(); first += size) {
    double squares = 0.0;
    for (std::size_t i = first; i < first + size; ++i) {
      squares += y.values[i] * y.values[i];
    }
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(size) + epsilon);
    for (std::size_t i = first; i < first + size; ++i) {
      y.values[i] *= scale;
    }
  }
  const Broadcast scale(spec, operands[1].dims, y.dims);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] *= operands[1].values[scale(i)];
  }
  return y;
}

Numbers instance_normalization(const model::LayerSpec& spec, Operands operands) {
  require_channel_operands(spec, operands, 1);
  Numbers y = copy_of_input(spec, operands);
  const auto size = static_cast<std::size_t>(product(y.dims, 2, y.dims.size()));
  normalize_runs(y.values, size, spec.real("epsilon"));
  scale_channels(y, operands[1].values, operands[2].values);
  return y;
}

Numbers group_normalization(const model::LayerSpec& spec, Operands operands) {
  require(operands[0].dims.size() >= 2, spec, "x has no channel axis");
  Numbers y = copy_of_input(spec, operands);
  const std::int64_t channels = y.dims[1];
  const std::int64_t groups = spec.integer("groups");
  require(
      groups >= 1 && channels % groups == 0, spec, "the channels are not a multiple of the groups");
  const std::int64_t size = product(y.dims, 1, y.dims.size()) / groups;
  normalize_runs(y.values, static_cast<std::size_t>(size), spec.real("epsilon"));
  // Opset 18 has one scale and bias per group, opset 21 one per channel.
  std::vector<double> scale = operands[1].values;
  std::vector<double> bias = operands[2].values;
  const auto given = static_cast<std::int64_t>(scale.size());
  require((given == channels || given == groups) && scale.size() == bias.size(),
          spec,
          "scale and bias have neither one number for each channel nor one for each group");
  if (given != channels) {
    const auto repeat = static_cast<std::size_t>(channels / groups);
    std::vector<double> wide_scale;
    std::vector<double> wide_bias;
    for (std::size_t group = 0; group < scale.size(); ++group) {
      wide_scale.insert(wide_scale.end(), repeat, scale[group]);
      wide_bias.insert(wide_bias.end(), repeat, bias[group]);
    }
    scale = std::move(wide_scale);
    bias = std::move(wide_bias);
  }
  scale_channels(y, scale, bias);
  return y;
}

Numbers local_response_normalization(const model::LayerSpec& spec, Operands operands) {
  const Numbers& x = operands[0];
  require(x.dims.size() >= 2, spec, "x has no channel axis");
  Numbers y = copy_of_input(spec, operands);
  const std::int64_t channels = x.dims[1];
  const std::int64_t inner = product(x.dims, 2, x.dims.size());
  const std::int64_t size = spec.integer("size");
  require(size >= 1 && size < (std::int64_t{1} << 31), spec, "size is out of range");
  const double alpha = spec.real("alpha") / static_cast<double>(size);
  for (std::int64_t i = 0; i < product(x.dims); ++i) {
    const std::int64_t channel = i / inner % channels;
    const std::int64_t first = std::max<std::int64_t>(0, channel - (size - 1) / 2);
    const std::int64_t last = std::min(channels - 1, channel + size / 2);
    double squares = 0.0;
    for (std::int64_t c = first; c <= last; ++c) {
      const double value = x.values[static_cast<std::size_t>(i + (c - channel) * inner)];
      squares += value * value;
    }
    y.values[static_cast<std::size_t>(i)] /=
        std::pow(spec.real("bias") + alpha * squares, spec.real("beta"));
  }
  return y;
}

}  // namespace plumb::engine::reference
