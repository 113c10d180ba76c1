// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/graph_arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>

#include "runners/cuda/device_program.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::cuda {
namespace {

/// Tensor's memory, each element where the strides say.
struct Memory {
  std::vector<std::int64_t> dimensions;
  std::vector<std::int64_t> strides;
  std::vector<double> numbers;

  [[nodiscard]] std::size_t at(const Dimensions& position) const {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < position.size(); ++axis) {
      // An extent of one is broadcast, as pointwise operations have it.
      place += dimensions[axis] == 1 ? 0 : position[axis] * strides[axis];
    }
    return static_cast<std::size_t>(place);
  }
  [[nodiscard]] double get(const Dimensions& position) const { return numbers.at(at(position)); }
  double& set(const Dimensions& position) { return numbers.at(at(position)); }
};

void for_each(const Dimensions& extents, const std::function<void(const Dimensions&)>& visit) {
  Dimensions position(extents.size(), 0);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) {
    return;
  }
  while (true) {
    visit(position);
    std::size_t axis = extents.size();
    while (axis > 0 && ++position[axis - 1] == extents[axis - 1]) {
      position[--axis] = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

class Computation {
 public:
  Computation(const GraphForm& form, const std::vector<model::Tensor>& operands) {
    for (const TensorGraph::Tensor& tensor : form.graph.tensors) {
      Memory& memory = memories_.emplace_back(Memory{tensor.dimensions, tensor.strides, {}});
      const double initial = tensor.value.value_or(0.0F);
      std::int64_t last = 0;
      for (std::size_t axis = 0; axis < tensor.dimensions.size(); ++axis) {
        last += (tensor.dimensions[axis] - 1) * tensor.strides[axis];
      }
      memory.numbers.assign(static_cast<std::size_t>(last) + 1, initial);
      if (tensor.operand) {
        model::Tensor laid = operands.at(*tensor.operand);
        if (*tensor.operand < form.inputs.size()) {
          laid.data = laid_out(laid.type, laid.data, form.inputs[*tensor.operand], false);
        }
        for (std::size_t i = 0; i < memory.numbers.size(); ++i) {
          memory.numbers[i] = engine::number_at(laid, i);
        }
      }
    }
    for (const TensorGraph::Operation& operation : form.graph.operations) {
      std::visit([this](const auto& value) { run(value); }, operation);
    }
  }

  [[nodiscard]] const Memory& memory(std::size_t tensor) const { return memories_.at(tensor); }

 private:
  /// Visits every position of the grid with every tap that meets the image.
  void run(const TensorGraph::Convolution& value) {
    using Direction = TensorGraph::Convolution::Direction;
    Memory& image = memories_[value.image];
    Memory& grid = memories_[value.grid];
    Memory& weights = memories_[value.weights];
    const std::int64_t in_group = weights.dimensions[1];
    const std::int64_t groups = image.dimensions[1] / in_group;
    const std::int64_t out_group = weights.dimensions[0] / groups;
    check_extents(value, image, grid, weights);
    Dimensions taps = weights.dimensions;
    taps[0] = 1;  // of the one filter that makes the channel
    Dimensions tap;
    Dimensions in;
    for_each(grid.dimensions, [&](const Dimensions& out) {
      for_each(taps, [&](const Dimensions& place) {
        tap = place;
        tap[0] = out[1];
        in = out;
        in[1] = out[1] / out_group * in_group + tap[1];
        for (std::size_t axis = 2; axis < out.size(); ++axis) {
          in[axis] = out[axis] * value.strides[axis - 2] + tap[axis] * value.dilations[axis - 2] -
                     value.pads_before[axis - 2];
          if (in[axis] < 0 || in[axis] >= image.dimensions[axis]) {
            return;
          }
        }
        if (value.direction == Direction::kForward) {
          grid.set(out) += image.get(in) * weights.get(tap);
        } else if (value.direction == Direction::kBackwardData) {
          image.set(in) += grid.get(out) * weights.get(tap);
        } else {
          weights.set(tap) += grid.get(out) * image.get(in);
        }
      });
    });
  }

  /// Checks that cuDNN keeps what it documents: the grid's extents follow from the image's.
  static void check_extents(const TensorGraph::Convolution& value,
                            const Memory& image,
                            const Memory& grid,
                            const Memory& weights) {
    for (std::size_t axis = 2; axis < grid.dimensions.size(); ++axis) {
      const std::size_t i = axis - 2;
      const std::int64_t extent =
          (image.dimensions[axis] + value.pads_before[i] + value.pads_after[i] -
           (weights.dimensions[axis] - 1) * value.dilations[i] - 1) /
              value.strides[i] +
          1;
      if (extent != grid.dimensions[axis]) {
        throw std::runtime_error("extents that do not belong together");
      }
    }
  }

  void run(const TensorGraph::Pointwise& value) {
    Memory& output = memories_[value.output];
    for_each(output.dimensions, [&](const Dimensions& position) {
      const double x = memories_[value.input].get(position);
      const double b = value.operand ? memories_[*value.operand].get(position) : 0.0;
      if (value.mode == abi::CudnnCalls::PointwiseMode::kIndex) {
        output.set(position) =
            static_cast<double>(position[static_cast<std::size_t>(value.axis.value())]);
      } else if (value.mode == abi::CudnnCalls::PointwiseMode::kSelect) {
        output.set(position) = memories_[value.condition.value()].get(position) != 0.0 ? x : b;
      } else {
        output.set(position) = result_of(value, x, b);
      }
    });
  }

  void run(const TensorGraph::Matmul& value) {
    const Memory& left = memories_[value.left];
    const Memory& right = memories_[value.right];
    Memory& output = memories_[value.output];
    const std::int64_t sharing = left.dimensions[1] / right.dimensions[1];
    for_each(output.dimensions, [&](const Dimensions& at) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < left.dimensions[3]; ++i) {
        sum += left.get({at[0], at[1], at[2], i}) * right.get({at[0], at[1] / sharing, i, at[3]});
      }
      output.set(at) = sum;
    });
  }

  void run(const TensorGraph::Reduction& value) {
    const bool sum = value.reduction == abi::CudnnCalls::Reduction::kAdd;
    Memory& output = memories_[value.output];
    output.numbers.assign(output.numbers.size(), sum ? 0.0 : -INFINITY);
    const std::int64_t sharing =
        std::max<std::int64_t>(1, memories_[value.input].dimensions[1] / output.dimensions[1]);
    for_each(memories_[value.input].dimensions, [&](const Dimensions& at) {
      const double x = memories_[value.input].get(at);
      Dimensions joined = at;
      joined[1] /= sharing;
      double& result = output.set(joined);
      result = sum ? result + x : std::max(result, x);
    });
  }

  /// Visits every position of the output with every place of its window.
  void run(const TensorGraph::Resample& value) {
    const Memory& x = memories_[value.input];
    Memory& y = memories_[value.output];
    Dimensions window{1, 1};
    window.insert(window.end(), value.window.begin(), value.window.end());
    for_each(y.dimensions, [&](const Dimensions& out) {
      double largest = -INFINITY;
      double sum = 0.0;
      double count = 0.0;
      for_each(window, [&](const Dimensions& place) {
        Dimensions in = out;
        bool inside = true;
        for (std::size_t axis = 2; axis < out.size(); ++axis) {
          in[axis] =
              out[axis] * value.strides[axis - 2] + place[axis] - value.pads_before[axis - 2];
          inside = inside && in[axis] >= 0 && in[axis] < x.dimensions[axis];
        }
        largest = inside ? std::max(largest, x.get(in)) : largest;
        sum += inside ? x.get(in) : 0.0;
        count +=
            inside || value.mode == abi::CudnnCalls::ResampleMode::kAverageWithPads ? 1.0 : 0.0;
      });
      y.set(out) = value.mode == abi::CudnnCalls::ResampleMode::kMax ? largest : sum / count;
    });
  }

  void run(const TensorGraph::Reshape& value) {
    memories_[value.output].numbers = memories_[value.input].numbers;
  }

  void run(const TensorGraph::Norm& value) {
    const Memory& x = memories_[value.input];
    Memory& y = memories_[value.output];
    const std::int64_t columns = x.dimensions[1];
    for (std::int64_t row = 0; row < x.dimensions[0]; ++row) {
      double mean = 0.0;
      double variance = 0.0;
      for (std::int64_t i = 0; i < columns; ++i) {
        mean += x.get({row, i, 0, 0}) / static_cast<double>(columns);
      }
      for (std::int64_t i = 0; i < columns; ++i) {
        variance += std::pow(x.get({row, i, 0, 0}) - mean, 2) / static_cast<double>(columns);
      }
      const double deviation = std::sqrt(variance + memories_[value.epsilon].numbers[0]);
      for (std::int64_t i = 0; i < columns; ++i) {
        y.set({row, i, 0, 0}) =
            (x.get({row, i, 0, 0}) - mean) / deviation * memories_[value.scale].get({0, i, 0, 0}) +
            memories_[value.bias].get({0, i, 0, 0});
      }
    }
  }

  /// Of a layer normalisation statistics are one a row, of a batch normalisation one a channel.
  void run(const TensorGraph::NormGradient& value) {
    const Memory& x = memories_[value.input];
    const Memory& dy = memories_[value.gradient];
    const Memory& mean = memories_[value.mean];
    const Memory& inverse = memories_[value.inverse_deviation];
    const Memory& scale = memories_[value.scale];
    const auto unit = [&](const Dimensions& at) {
      return (x.get(at) - mean.get(at)) * inverse.get(at);
    };
    std::vector<double> sums(mean.numbers.size(), 0.0);
    std::vector<double> products(mean.numbers.size(), 0.0);
    double count = 0.0;
    for_each(x.dimensions, [&](const Dimensions& at) {
      const double g = dy.get(at) * scale.get(at);
      sums[mean.at(at)] += g;
      products[mean.at(at)] += g * unit(at);
      memories_[value.scale_gradient].set(at) += dy.get(at) * unit(at);
      memories_[value.bias_gradient].set(at) += dy.get(at);
      count += 1.0 / static_cast<double>(mean.numbers.size());
    });
    for_each(x.dimensions, [&](const Dimensions& at) {
      const std::size_t set = mean.at(at);
      memories_[value.output].set(at) =
          inverse.get(at) *
          (dy.get(at) * scale.get(at) - sums[set] / count - unit(at) * products[set] / count);
    });
  }

  static double result_of(const TensorGraph::Pointwise& value, double x, double b) {
    using Mode = abi::CudnnCalls::PointwiseMode;
    switch (value.mode) {
      case Mode::kAdd:
        return x + b;
      case Mode::kMultiply:
        return x * b;
      case Mode::kSubtract:
        return x - b;
      case Mode::kDivide:
        return x / b;
      case Mode::kExp:
        return std::exp(x);
      case Mode::kIdentity:
        return x;
      case Mode::kLog:
        return std::log(x);
      case Mode::kTanh:
        return std::tanh(x);
      case Mode::kGreaterEqual:
        return x >= b ? 1.0 : 0.0;
      case Mode::kRelu:
        return x < 0.0 ? x * value.lower_clip_slope.value_or(0.0)
                       : std::min(x, value.upper_clip.value_or(INFINITY));
      default:
        throw std::runtime_error("a mode that this arithmetic does not have");
    }
  }

  std::vector<Memory> memories_;
};

}  // namespace

std::map<std::size_t, model::Tensor> computed(const GraphForm& form,
                                              const std::vector<model::TensorType>& results,
                                              const std::vector<model::Tensor>& buffers) {
  const Computation computation(form, buffers);
  std::map<std::size_t, model::Tensor> made;
  for (std::size_t i = 0; i < form.graph.tensors.size(); ++i) {
    const TensorGraph::Tensor& tensor = form.graph.tensors[i];
    if (tensor.is_result()) {
      const model::TensorType& type = results.at(tensor.result);
      std::vector<double> numbers = computation.memory(i).numbers;
      if (!model::is_floating(type.dtype)) {
        for (double& number : numbers) {
          number = engine::reference::saturated(number, type.dtype);
        }
      }
      model::Tensor laid = engine::tensor_from(type, numbers);
      laid.data = laid_out(type, laid.data, form.result, true);
      made.emplace(tensor.result, std::move(laid));
    }
  }
  return made;
}

}  // namespace plumb::cuda
