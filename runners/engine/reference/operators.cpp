// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/operators.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/operator_families.hpp"
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

EpilogueChain::Requantizer::Requantizer(const model::LayerSpec& spec,
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

double EpilogueChain::Requantizer::real(double accumulator, std::size_t element) const {
  if (w_scale_ == nullptr) {
    return accumulator;
  }
  const std::size_t channel = element / behind_channels_ % channels_;
  const bool each = element_count(w_scale_->type) > 1;
  const double value = accumulator * x_scale_ * number_at(*w_scale_, each ? channel : 0);
  return bias_ == nullptr ? value : value + number_at(*bias_, channel);
}

double EpilogueChain::Requantizer::stored(double value) const {
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

namespace {

/// Reads the bit of an element. Each row begins at a byte, with its first bit lowest.
bool read_bit(const model::Tensor& mask, std::size_t row, std::size_t element) {
  const auto bytes_of_row = static_cast<std::size_t>(mask.type.dims.back());
  const std::size_t column = element % row;
  const std::byte byte = mask.data.at(element / row * bytes_of_row + column / 8);
  return ((byte >> (column % 8)) & std::byte{1}) != std::byte{0};
}

}  // namespace

EpilogueChain::EpilogueChain(const model::LayerSpec& spec, std::span<const model::Tensor> operands)
    : requantization_(spec, operands),
      scaled_(model::is_integer_product(spec) &&
              spec.has_input(model::quantized_product(spec).w_scale)) {
  for (const model::Epilogue& epilogue : spec.epilogue) {
    Step step;
    if (epilogue.operand) {
      require(spec.has_input(*epilogue.operand) && *epilogue.operand < operands.size(),
              spec,
              "an epilogue's operand is missing");
      step.operand = &operands[*epilogue.operand];
      if (epilogue.fn == model::kBitMask) {
        require(!spec.outputs[0].dims.empty(), spec, "a scalar has no mask of bits");
        step.row = static_cast<std::size_t>(spec.outputs[0].dims.back());
        steps_.push_back(std::move(step));
        continue;
      }
      step.broadcast.emplace(spec, step.operand->type.dims, spec.outputs[0].dims);
      if (const std::optional<std::string_view> fn = model::function_of_gradient(epilogue.fn)) {
        const std::optional<Unary> derivative = find_derivative(*fn);
        require(derivative && derivative->parameters == epilogue.parameters.size(),
                spec,
                "an epilogue's gradient or its parameters are unknown");
        step.derivative = derivative->function;
        step.parameters = epilogue.parameters;
        steps_.push_back(std::move(step));
        continue;
      }
      step.binary = find_binary(epilogue.fn, !model::is_floating(step.operand->type.dtype));
      require(step.binary != nullptr, spec, "an epilogue's binary function is unknown");
    } else {
      const std::optional<Unary> unary = find_unary(epilogue.fn);
      require(unary && unary->parameters == epilogue.parameters.size(),
              spec,
              "an epilogue's function or its parameters are unknown");
      step.unary = unary->function;
      step.parameters = epilogue.parameters;
    }
    steps_.push_back(std::move(step));
  }
}

double EpilogueChain::operator()(double value, std::size_t element) const {
  value = requantization_.real(value, element);
  for (const Step& step : steps_) {
    if (step.unary != nullptr) {
      value = step.unary(value, step.parameters);
    } else if (step.row != 0) {
      value = read_bit(*step.operand, step.row, element) ? value : 0.0;
    } else {
      const double other = number_at(*step.operand, (*step.broadcast)(element));
      value = step.derivative != nullptr ? value * step.derivative(other, step.parameters)
                                         : step.binary(value, other);
    }
  }
  return requantization_.stored(value);
}

model::LayerSpec without_epilogue(const model::LayerSpec& spec) {
  model::LayerSpec own = spec;
  own.epilogue.clear();
  for (const model::Epilogue& epilogue : spec.epilogue) {
    if (epilogue.operand && *epilogue.operand < own.inputs.size()) {
      own.inputs.resize(*epilogue.operand);
    }
  }
  return own;
}

}  // namespace plumb::engine::reference
