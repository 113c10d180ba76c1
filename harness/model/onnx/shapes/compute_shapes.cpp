// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/shape_rules.hpp"

namespace plumb::model::shape_rules {
namespace {

std::size_t spatial_rank(const LayerSpec& spec) {
  require(dims(spec, 0).size() >= 3, "in", "a rank below 3 has no spatial extents");
  return dims(spec, 0).size() - 2;
}

/// Appends the number of windows along each spatial axis. `up` rounds up.
void append_windows(const LayerSpec& spec, const Dims& kernel, bool up, Dims& result) {
  const std::size_t rank = spatial_rank(spec);
  const Dims& strides = read_list(spec, "strides", rank, 1);
  const Dims& dilations = read_list(spec, "dilations", rank, 1);
  const Dims& pads = read_list(spec, "pads", 2 * rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    require(
        kernel[i] >= 1 && kernel[i] <= (std::int64_t{1} << 20), "kernel", "an extent out of range");
    require(dilations[i] <= (std::int64_t{1} << 20), "dilations", "an extent out of range");
    const std::int64_t padded = dims(spec, 0)[i + 2] + pads[i] + pads[i + rank];
    const std::int64_t room = padded - ((kernel[i] - 1) * dilations[i] + 1);
    require(room >= 0, "in", "a window larger than the padded extent {}", padded);
    std::int64_t windows = room / strides[i] + 1;
    if (up && room % strides[i] != 0 && windows * strides[i] < dims(spec, 0)[i + 2] + pads[i]) {
      ++windows;  // a further window counts if it begins inside the input or its left padding
    }
    result.push_back(windows);
  }
}

}  // namespace

Dims conv_dims(const LayerSpec& spec) {
  const std::size_t rank = spatial_rank(spec) + 2;
  const Dims& x = dims(spec, 0);
  const Dims& w = dims(spec, 1);
  const std::int64_t group = spec.integer("group");
  require(w.size() == rank, "in", "weights of another rank than the input");
  require(group >= 1 && w[0] % group == 0, "group", "{} groups for {} outputs", group, w[0]);
  require(x[1] % group == 0 && x[1] / group == w[1],
          "in",
          "{} channels in {} groups for weights of {}",
          x[1],
          group,
          w[1]);
  require(!spec.has_input(2) || dims(spec, 2) == Dims{w[0]},
          "in",
          "a bias that is not one number for each output");
  Dims result = {x[0], w[0]};
  append_windows(spec, Dims(w.begin() + 2, w.end()), false, result);
  return result;
}

Dims conv_transpose_dims(const LayerSpec& spec) {
  const std::size_t rank = spatial_rank(spec);
  const Dims& x = dims(spec, 0);
  const Dims& w = dims(spec, 1);
  const std::int64_t group = spec.integer("group");
  require(w.size() == rank + 2, "in", "weights of another rank than the input");
  require(group >= 1 && group <= (1 << 20) && x[1] % group == 0 && x[1] == w[0],
          "group",
          "{} groups, {} channels, weights of {}",
          group,
          x[1],
          w[0]);
  require(!spec.has_input(2) || dims(spec, 2) == Dims{w[1] * group},
          "in",
          "a bias that is not one number for each output");
  Dims result = {x[0], w[1] * group};
  const Dims& strides = read_list(spec, "strides", rank, 1);
  const Dims& dilations = read_list(spec, "dilations", rank, 1);
  const Dims& pads = read_list(spec, "pads", 2 * rank, 0);
  const Dims& more = read_list(spec, "output_padding", rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    require(x[i + 2] < (1 << 20) && strides[i] < (1 << 20) && w[i + 2] < (1 << 20) &&
                dilations[i] < (1 << 20),
            "in",
            "an extent out of range");
    result.push_back((x[i + 2] - 1) * strides[i] + (w[i + 2] - 1) * dilations[i] + 1 + more[i] -
                     pads[i] - pads[i + rank]);
  }
  return result;
}

Dims gemm_dims(const LayerSpec& spec) {
  const Dims& a = dims(spec, 0);
  const Dims& b = dims(spec, 1);
  require(a.size() == 2 && b.size() == 2, "in", "the operands of a gemm are matrices");
  const std::size_t ta = spec.integer("trans_a") != 0 ? 1 : 0;
  const std::size_t tb = spec.integer("trans_b") != 0 ? 1 : 0;
  require(a[1 - ta] == b[tb], "in", "inner extents {} and {}", a[1 - ta], b[tb]);
  Dims result = {a[ta], b[1 - tb]};
  if (spec.has_input(2)) {
    require_broadcast_to(*spec.inputs[2], result);
  }
  return result;
}

Dims matmul_dims(const LayerSpec& spec) {
  Dims a = dims(spec, 0);
  Dims b = dims(spec, 1);
  require(!a.empty() && !b.empty(), "in", "a scalar operand of a matmul");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) {
    a.insert(a.begin(), 1);
  }
  if (column) {
    b.push_back(1);
  }
  require(a.back() == b[b.size() - 2], "in", "inner extents {} and {}", a.back(), b[b.size() - 2]);
  Dims result = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  if (!row) {
    result.push_back(a[a.size() - 2]);
  }
  if (!column) {
    result.push_back(b.back());
  }
  return result;
}

Dims like_input(const LayerSpec& spec) {
  return dims(spec, 0);
}

Dims batch_norm_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const Dims each = spec.text("mode") == "spatial" ? Dims{x.size() > 1 ? x[1] : 1}
                                                   : Dims(x.begin() + (x.empty() ? 0 : 1), x.end());
  for (std::size_t i = 1; i < 5; ++i) {
    require(dims(spec, i) == each, "in", "operand {} is not [{}]", i, fmt::join(each, ","));
  }
  return x;
}

Dims axis_norm_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  const std::size_t axis = read_axis(spec, "axis", x.size());
  for (std::size_t i = 1; i < 3; ++i) {
    if (spec.has_input(i)) {
      require_broadcast_to(*spec.inputs[i],
                           Dims(x.begin() + static_cast<std::ptrdiff_t>(axis), x.end()));
    }
  }
  return x;
}

Dims channel_norm_dims(const LayerSpec& spec) {
  const Dims& x = dims(spec, 0);
  require(x.size() >= 2, "in", "a rank below 2 has no channels");
  std::int64_t size = x[1];
  if (spec.op == "group_norm") {
    const std::int64_t groups = spec.integer("groups");
    require(groups >= 1 && x[1] % groups == 0, "groups", "{} groups of {} channels", groups, x[1]);
    size =
        dims(spec, 1) == Dims{groups} ? groups : size;  // GroupNormalization-18 scales each group
  }
  require(dims(spec, 1) == Dims{size} && dims(spec, 2) == Dims{size},
          "in",
          "scale and bias are not one number for each channel");
  return x;
}

Dims lrn_dims(const LayerSpec& spec) {
  require(dims(spec, 0).size() >= 2, "in", "a rank below 2 has no channels");
  require(spec.integer("size") >= 1, "size", "the window is empty");
  return dims(spec, 0);
}

Dims softmax_dims(const LayerSpec& spec) {
  if (!dims(spec, 0).empty()) {
    static_cast<void>(read_axis(spec, "axis", dims(spec, 0).size()));
  }
  return dims(spec, 0);
}

Dims pool_dims(const LayerSpec& spec) {
  const std::size_t rank = spatial_rank(spec);
  Dims result = {dims(spec, 0)[0], dims(spec, 0)[1]};
  append_windows(spec, read_list(spec, "kernel", rank, 1), spec.integer("ceil_mode") != 0, result);
  return result;
}

Dims binary_dims(const LayerSpec& spec) {
  return broadcast(dims(spec, 0), dims(spec, 1));
}

Dims prelu_dims(const LayerSpec& spec) {
  require_broadcast_to(*spec.inputs[1], dims(spec, 0));
  return dims(spec, 0);
}

Dims where_dims(const LayerSpec& spec) {
  return broadcast(dims(spec, 0), broadcast(dims(spec, 1), dims(spec, 2)));
}

Dims sum_dims(const LayerSpec& spec) {
  for (std::size_t i = 1; i < own_operands(spec); ++i) {
    require(
        spec.has_input(i) && dims(spec, i) == dims(spec, 0), "in", "operands of different shapes");
  }
  return dims(spec, 0);
}

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
