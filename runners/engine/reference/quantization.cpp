// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/quantization.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/model/key/quantized_product.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine::reference {
namespace {

std::pair<double, double> range_of(model::DataType type) {
  switch (type) {
    case model::DataType::kS8:
      return {-128.0, 127.0};
    case model::DataType::kU8:
      return {0.0, 255.0};
    case model::DataType::kS16:
      return {-32768.0, 32767.0};
    case model::DataType::kU16:
      return {0.0, 65535.0};
    default:
      return {-2147483648.0, 2147483647.0};
  }
}

double single(const model::LayerSpec& spec,
              std::span<const model::Tensor> operands,
              std::size_t operand,
              double otherwise) {
  return spec.has_input(operand) ? number_at(operands[operand], 0) : otherwise;
}

/// Mapping from the elements of x to the indices of their scale and zero point.
class Grid {
 public:
  Grid(const model::LayerSpec& spec, std::size_t numbers) : numbers_(numbers) {
    const Dims& x = spec.inputs[0]->dims;
    if (numbers_ > 1) {
      const auto axis = static_cast<std::size_t>(spec.integer("axis"));
      require(axis < x.size() && x[axis] == static_cast<std::int64_t>(numbers_),
              spec,
              "scales do not fit the axis");
      behind_ = static_cast<std::size_t>(product(x, axis + 1, x.size()));
    }
  }
  [[nodiscard]] std::size_t operator()(std::size_t element) const {
    return element / behind_ % numbers_;
  }

 private:
  std::size_t numbers_;
  std::size_t behind_ = 1;
};

double zero_point(const model::LayerSpec& spec, Operands operands, std::size_t index) {
  return spec.has_input(2) ? operands[2].values.at(index) : 0.0;
}

}  // namespace

double saturated(double value, model::DataType type) {
  const auto [low, high] = range_of(type);
  return std::clamp(std::nearbyint(value), low, high);  // to even: the default rounding mode
}

Requantization::Requantization(const model::LayerSpec& spec,
                               std::span<const model::Tensor> operands)
    : spec_(spec) {
  if (!model::is_integer_product(spec)) {
    return;
  }
  const model::QuantizedProduct at = model::quantized_product(spec);
  const Dims& y = spec.outputs[0].dims;
  if (spec.op == "conv_integer") {
    channels_ = static_cast<std::size_t>(y.at(1));
    behind_channels_ = static_cast<std::size_t>(product(y, 2, y.size()));
    if (spec.has_input(2) && model::is_floating(spec.inputs[2]->dtype)) {
      bias_ = &operands[2];
    }
  } else if (spec.inputs[1]->dims.size() > 1) {
    channels_ = static_cast<std::size_t>(y.back());
  }
  if (spec.has_input(at.w_scale)) {
    w_scale_ = &operands[at.w_scale];
    x_scale_ = single(spec, operands, at.x_scale, 1.0);
  }
  if (spec.has_input(at.y_scale)) {
    y_scale_ = single(spec, operands, at.y_scale, 1.0);
    y_zero_point_ = single(spec, operands, at.y_zero_point, 0.0);
  }
}

double Requantization::real(double accumulator, std::size_t element) const {
  if (w_scale_ == nullptr) {
    return accumulator;
  }
  const std::size_t channel = element / behind_channels_ % channels_;
  const bool each = element_count(w_scale_->type) > 1;
  const double value = accumulator * x_scale_ * number_at(*w_scale_, each ? channel : 0);
  return bias_ == nullptr ? value : value + number_at(*bias_, channel);
}

double Requantization::stored(double value) const {
  return y_scale_
             ? saturated(std::nearbyint(value / *y_scale_) + y_zero_point_, spec_.outputs[0].dtype)
             : value;
}

Numbers quantize(const model::LayerSpec& spec, Operands operands) {
  const Grid grid(spec, operands[1].values.size());
  Numbers y = operands[0];
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::size_t index = grid(i);
    // The quotient is computed in the operands' type, as ONNX has it, because that decides ties.
    const double ratio =
        spec.inputs[0]->dtype == model::DataType::kF32
            ? static_cast<float>(y.values[i]) / static_cast<float>(operands[1].values.at(index))
            : y.values[i] / operands[1].values.at(index);
    y.values[i] =
        saturated(std::nearbyint(ratio) + zero_point(spec, operands, index), spec.outputs[0].dtype);
  }
  return y;
}

Numbers dequantize(const model::LayerSpec& spec, Operands operands) {
  const Grid grid(spec, operands[1].values.size());
  Numbers y = operands[0];
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::size_t index = grid(i);
    y.values[i] = (y.values[i] - zero_point(spec, operands, index)) * operands[1].values.at(index);
  }
  return y;
}

Numbers integer_convolution(const model::LayerSpec& spec, Operands operands) {
  const model::QuantizedProduct at = model::quantized_product(spec);
  std::vector<Numbers> shifted(operands.begin(), operands.begin() + 2);
  if (spec.has_input(at.x_zero_point)) {
    for (double& value : shifted[0].values) {
      value -= operands[at.x_zero_point].values.at(0);
    }
  }
  if (spec.has_input(at.w_zero_point)) {
    const std::vector<double>& points = operands[at.w_zero_point].values;
    const std::size_t each = shifted[1].values.size() / std::max<std::size_t>(1, points.size());
    for (std::size_t i = 0; i < shifted[1].values.size(); ++i) {
      shifted[1].values[i] -= points[i / std::max<std::size_t>(1, each)];
    }
  }
  model::LayerSpec own = spec;
  own.inputs.resize(2);
  if (spec.has_input(2) && !model::is_floating(spec.inputs[2]->dtype)) {
    own.inputs.push_back(spec.inputs[2]);
    shifted.push_back(operands[2]);
  }
  return convolution(own, shifted);
}

}  // namespace plumb::engine::reference
