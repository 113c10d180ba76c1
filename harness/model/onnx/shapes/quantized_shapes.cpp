// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "harness/model/key/quantized_product.hpp"
#include "harness/model/key/shape_rules.hpp"

namespace plumb::model::shape_rules {
namespace {

bool is_8_bit(DataType type) {
  return type == DataType::kS8 || type == DataType::kU8;
}

void require_single(const LayerSpec& spec, std::size_t operand, const char* what) {
  require(!spec.has_input(operand) || element_count(*spec.inputs[operand]) == 1,
          "in",
          "a {} of {} numbers: one for the whole operand is needed",
          what,
          spec.has_input(operand) ? element_count(*spec.inputs[operand]) : 0);
}

void require_single_or_each(const LayerSpec& spec,
                            std::size_t operand,
                            std::int64_t channels,
                            const char* what) {
  require(!spec.has_input(operand) || element_count(*spec.inputs[operand]) == 1 ||
              dims(spec, operand) == Dims{channels},
          "in",
          "a {} that is neither one number nor one of each of {} channels",
          what,
          channels);
}

/// Checks scales, zero points and types of a product with `channels` output channels.
void require_quantization(const LayerSpec& spec, std::int64_t channels) {
  const QuantizedProduct at = quantized_product(spec);
  const DataType y = spec.outputs[0].dtype;
  require(is_8_bit(spec.inputs[0]->dtype) && is_8_bit(spec.inputs[1]->dtype),
          "in",
          "operands of {} and {}: 8-bit integers are needed",
          to_text(spec.inputs[0]->dtype),
          to_text(spec.inputs[1]->dtype));
  require_single(spec, at.x_zero_point, "zero point");
  require_single(spec, at.x_scale, "scale");
  require_single(spec, at.y_scale, "scale");
  require_single(spec, at.y_zero_point, "zero point");
  if (spec.op == "conv_integer") {
    require_single_or_each(spec, at.w_zero_point, channels, "zero point");
  } else {
    require_single(spec, at.w_zero_point, "zero point");
  }
  require_single_or_each(spec, at.w_scale, channels, "scale");
  require(spec.has_input(at.x_scale) == spec.has_input(at.w_scale),
          "in",
          "a scale of one operand only");
  require(spec.has_input(at.x_scale) || !spec.has_input(at.y_scale),
          "in",
          "a scale of the result without those of the operands");
  require(spec.has_input(at.y_scale) || !spec.has_input(at.y_zero_point),
          "in",
          "a zero point of the result without its scale");
  const bool fits = spec.has_input(at.y_scale)   ? is_8_bit(y)
                    : spec.has_input(at.x_scale) ? y == DataType::kF32
                                                 : y == DataType::kS32;
  require(fits,
          "out",
          "{}: s32 without scales, f32 with those of the operands, 8-bit with that of "
          "the result",
          to_text(y));
}

/// Checks scale and zero point, of a whole tensor or of each slice along the axis.
void require_grid(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const std::int64_t numbers = element_count(*spec.inputs[1]);
  require(numbers == 1 ? spec.integer("axis") == 0
                       : dims(spec, 1) == Dims{x.at(read_axis(spec, "axis", x.size()))},
          "in",
          "{} scales: one, with axis 0, or one of each slice along the axis",
          numbers);
  require(!spec.has_input(2) || dims(spec, 2) == dims(spec, 1),
          "in",
          "zero points of another shape than the scales");
}

}  // namespace

Dims conv_integer_dims(const LayerSpec& spec) {
  Dims result = conv_dims(spec);
  require_quantization(spec, result.at(1));
  const DataType bias = spec.has_input(2) ? spec.inputs[2]->dtype : DataType::kS32;
  const bool scaled = spec.has_input(quantized_product(spec).x_scale);
  require(bias == DataType::kS32 || (bias == DataType::kF32 && scaled),
          "in",
          "a bias of {}: s32, in the accumulator's unit, or with scales f32, in the result's",
          to_text(bias));
  return result;
}

Dims matmul_integer_dims(const LayerSpec& spec) {
  Dims result = matmul_dims(spec);
  require_quantization(spec, dims(spec, 1).size() < 2 ? 1 : dims(spec, 1).back());
  return result;
}

Dims quantize_dims(const LayerSpec& spec) {
  require_grid(spec);
  require(is_8_bit(spec.outputs[0].dtype),
          "out",
          "{}: 8-bit integers are needed",
          to_text(spec.outputs[0].dtype));
  return dims(spec, 0);
}

Dims dequantize_dims(const LayerSpec& spec) {
  require_grid(spec);
  return dims(spec, 0);
}

}  // namespace plumb::model::shape_rules
