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
  const Numbers::Broadcasting scale(spec, operands[1].dims, y.dims);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] *= operands[1].values[scale(i)];
  }
  if (spec.has_input(2)) {
    const Numbers::Broadcasting bias(spec, operands[2].dims, y.dims);
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
  const Numbers::Broadcasting scale(spec, operands[1].dims, y.dims);
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

// Ioffe & Szegedy 2015, §3, and Ba et al. 2016 with the same algebra: of y = x̂·scale + bias with
// x̂ = (x − mean) ÷ √(variance + ε), and g = dy·scale over the m numbers that share mean and
// variance: dx = (g − Σg ÷ m − x̂·Σ(g·x̂) ÷ m) ÷ √(variance + ε).

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

namespace {

/// Runs of elements that a softmax scales to a sum of 1: `count` runs of `size` elements each.
struct Runs {
  std::size_t size = 1;
  std::size_t inner = 1;  ///< from one element of a run to the next
  std::size_t count = 0;

  [[nodiscard]] std::size_t first(std::size_t run) const {
    return run / inner * inner * size + run % inner;
  }
};

// Without coerce, softmax runs over one axis. With it (opset < 13), it runs over all axes from
// `axis` on together.
Runs runs_of(const model::LayerSpec& spec, const Numbers& x) {
  require(spec.outputs[0].dims == x.dims, spec, "the output's shape is not the input's");
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  const std::int64_t axis = spec.integer("axis");
  const bool coerce = spec.integer("coerce") != 0;
  require(axis >= 0 && (axis < rank || (coerce && axis == rank)), spec, "axis lies outside x");
  const auto at = static_cast<std::size_t>(axis);
  const std::size_t end = coerce ? x.dims.size() : at + 1;
  Runs runs;
  runs.size = static_cast<std::size_t>(product(x.dims, at, end));
  runs.inner = static_cast<std::size_t>(product(x.dims, end, x.dims.size()));
  runs.count = runs.size == 0 ? 0 : x.values.size() / runs.size;
  return runs;
}

}  // namespace

Numbers softmax(const model::LayerSpec& spec, Operands operands) {
  Numbers y = operands[0];
  const Runs runs = runs_of(spec, y);
  const bool logarithm = spec.integer("log") != 0;
  for (std::size_t run = 0; run < runs.count; ++run) {
    double* first = y.values.data() + runs.first(run);
    double most = first[0];
    for (std::size_t i = 1; i < runs.size; ++i) {
      most = std::max(most, first[i * runs.inner]);
    }
    double total = 0.0;
    for (std::size_t i = 0; i < runs.size; ++i) {
      total += std::exp(first[i * runs.inner] - most);
    }
    for (std::size_t i = 0; i < runs.size; ++i) {
      const double shifted = first[i * runs.inner] - most;
      first[i * runs.inner] = logarithm ? shifted - std::log(total) : std::exp(shifted) / total;
    }
  }
  return y;
}

// From the result y, dx = y·(dy − Σ dy·y). Of the logarithm, dx = dy − eʸ·Σ dy.
Numbers softmax_gradient(const model::LayerSpec& spec, Operands operands) {
  Numbers dx = operands[0];
  const std::vector<double>& y = operands[1].values;
  require(operands[1].dims == dx.dims, spec, "the gradient and y differ in shape");
  const Runs runs = runs_of(spec, dx);
  const bool logarithm = spec.integer("log") != 0;
  for (std::size_t run = 0; run < runs.count; ++run) {
    const std::size_t first = runs.first(run);
    double total = 0.0;
    for (std::size_t i = 0; i < runs.size; ++i) {
      const std::size_t at = first + i * runs.inner;
      total += logarithm ? dx.values[at] : dx.values[at] * y[at];
    }
    for (std::size_t i = 0; i < runs.size; ++i) {
      const std::size_t at = first + i * runs.inner;
      dx.values[at] =
          logarithm ? dx.values[at] - std::exp(y[at]) * total : y[at] * (dx.values[at] - total);
    }
  }
  return dx;
}

}  // namespace plumb::engine::reference
