// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>

#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {
namespace {

/// Normalization of rows of consecutive elements that share their statistics. It computes y = (x −
/// mean) ÷ √(variance + ε) · scale + bias, with scale and bias chosen by row and position.
struct RowNormalization {
  std::size_t rows = 0;
  std::size_t length = 0;  ///< of a row
  bool centred = true;     ///< false: mean 0 and the mean of squares (RMS)
  double epsilon = 0;
  std::size_t scale_period = 1;  ///< row r begins with scale ((r mod period) · stride)
  std::size_t scale_stride = 0;
  std::size_t scale_segment = 1;  ///< number of elements of a row that share one scale
  bool has_bias = false;
};

std::size_t product(const std::vector<std::int64_t>& dims, std::size_t first, std::size_t last) {
  std::size_t result = 1;
  for (std::size_t axis = first; axis < last; ++axis) {
    result *= static_cast<std::size_t>(dims[axis]);
  }
  return result;
}

/// Normalizes one row in place.
void normalize(const RowNormalization& plan,
               std::size_t row,
               const std::vector<float>& scale,
               const std::vector<float>& bias,
               std::vector<float>& values) {
  double mean = 0;
  if (plan.centred) {
    for (const float value : values) {
      mean += value;
    }
    mean /= static_cast<double>(plan.length);
  }
  double squares = 0;
  for (const float value : values) {
    const double distance = value - mean;
    squares += distance * distance;
  }
  const double factor = 1 / std::sqrt(squares / static_cast<double>(plan.length) + plan.epsilon);
  const std::size_t first = row % plan.scale_period * plan.scale_stride;
  for (std::size_t start = 0; start < plan.length; start += plan.scale_segment) {
    const std::size_t parameter = first + start / plan.scale_segment;
    const auto slope = static_cast<float>(factor) * scale[parameter];
    const float shift = plan.has_bias ? bias[parameter] : 0.0F;
    for (std::size_t index = start; index < start + plan.scale_segment; ++index) {
      values[index] = (values[index] - static_cast<float>(mean)) * slope + shift;
    }
  }
}

void add_normalization(const model::LayerSpec& spec,
                       VariantBuilder::List& list,
                       const RowNormalization& plan) {
  const model::TensorType& x = *spec.inputs[0];
  const model::TensorType& y = spec.outputs[0];
  require(
      x.dims == y.dims && plan.length > 0, spec, "x and y must have one shape that is not empty");
  const std::size_t parameters =
      (plan.scale_period - 1) * plan.scale_stride + (plan.length - 1) / plan.scale_segment + 1;
  for (const auto& operand : spec.inputs) {
    if (operand) {
      check_number(operand->dtype);
      require(&operand == &spec.inputs[0] ||
                  element_count(*operand) == static_cast<std::int64_t>(parameters),
              spec,
              "scale and bias must have one element for each they apply to");
    }
  }
  check_number(y.dtype);
  const auto x_bytes = static_cast<std::size_t>(model::element_bytes(x.dtype)) * plan.length;
  const auto y_bytes = static_cast<std::size_t>(model::element_bytes(y.dtype)) * plan.length;
  auto values = std::make_shared<std::vector<float>>(plan.length);
  auto scale = std::make_shared<std::vector<float>>(parameters);
  auto bias = std::make_shared<std::vector<float>>(parameters);
  add_own(list, spec, spec.op, [=](const KernelOperands& operands) {
    load(spec.inputs[1]->dtype, operands.input(1), parameters, scale->data());
    if (plan.has_bias) {
      load(spec.inputs[2]->dtype, operands.input(2), parameters, bias->data());
    }
    for (std::size_t row = 0; row < plan.rows; ++row) {
      load(spec.inputs[0]->dtype, operands.input(0) + row * x_bytes, plan.length, values->data());
      normalize(plan, row, *scale, *bias, *values);
      store(spec.outputs[0].dtype, values->data(), plan.length, operands.output(0) + row * y_bytes);
    }
  });
}

}  // namespace

/// Adds layer_norm or rms_norm. A row is everything from `axis` on, with a scale for each element.
void normalize_layers(const model::LayerSpec& spec,
                      const Device& /*device*/,
                      VariantBuilder::List& list) {
  require_operands(spec, 2);
  const auto& x = spec.inputs[0]->dims;
  const std::int64_t axis = spec.integer("axis");
  require(
      axis >= 0 && axis < static_cast<std::int64_t>(x.size()), spec, "the axis is out of range");
  RowNormalization plan;
  plan.rows = product(x, 0, static_cast<std::size_t>(axis));
  plan.length = product(x, static_cast<std::size_t>(axis), x.size());
  plan.centred = spec.op == "layer_norm";
  plan.epsilon = spec.real("epsilon");
  plan.has_bias = spec.has_input(2);
  add_normalization(spec, list, plan);
}

/// Adds group_norm or instance_norm, which has as many groups as channels.
void normalize_groups(const model::LayerSpec& spec,
                      const Device& /*device*/,
                      VariantBuilder::List& list) {
  require_operands(spec, 3);
  const auto& x = spec.inputs[0]->dims;
  require(x.size() >= 2 && x[1] > 0, spec, "needs batch and channels");
  const std::int64_t groups = spec.op == "instance_norm" ? x[1] : spec.integer("groups");
  require(groups > 0 && x[1] % groups == 0, spec, "channels are not a multiple of groups");
  const std::size_t spatial = product(x, 2, x.size());
  const auto channels = static_cast<std::size_t>(x[1] / groups);
  RowNormalization plan;
  plan.rows = static_cast<std::size_t>(x[0] * groups);
  plan.length = channels * spatial;
  plan.epsilon = spec.real("epsilon");
  plan.scale_period = static_cast<std::size_t>(groups);
  plan.scale_stride = channels;
  plan.scale_segment = std::max<std::size_t>(spatial, 1);
  plan.has_bias = true;
  add_normalization(spec, list, plan);
}

/// Adds the batch_norm that the library lacks, mode=per_activation. Its statistics have the shape
/// of one sample.
void normalize_batch(const model::LayerSpec& spec,
                     const Device& /*device*/,
                     VariantBuilder::List& list) {
  require_operands(spec, 5);
  const model::TensorType x = *spec.inputs[0];
  const model::TensorType y = spec.outputs[0];
  require(x.dims == y.dims && x.dims.size() >= 2,
          spec,
          "x and y must have one shape, with batch and channels");
  const bool spatial = spec.text("mode") == "spatial";
  const std::size_t sample = product(x.dims, 1, x.dims.size());
  const std::size_t segment =
      spatial ? std::max<std::size_t>(product(x.dims, 2, x.dims.size()), 1) : 1;
  const std::size_t parameters = sample / segment;
  for (std::size_t index = 0; index < 5; ++index) {
    check_number(spec.inputs[index]->dtype);
    require(
        index == 0 || element_count(*spec.inputs[index]) == static_cast<std::int64_t>(parameters),
        spec,
        "scale, bias, mean and var must have one element for each they apply to");
  }
  check_number(y.dtype);
  const double epsilon = spec.real("epsilon");
  auto values = std::make_shared<std::vector<float>>(sample);
  auto statistics =
      std::make_shared<std::vector<std::vector<float>>>(5, std::vector<float>(parameters));
  add_own(list, spec, "batch_norm", [=](const KernelOperands& operands) {
    auto& s = *statistics;
    for (std::size_t index = 1; index < 5; ++index) {
      load(spec.inputs[index]->dtype, operands.input(index), parameters, s[index].data());
    }
    const auto x_bytes = sample * static_cast<std::size_t>(model::element_bytes(x.dtype));
    const auto y_bytes = sample * static_cast<std::size_t>(model::element_bytes(y.dtype));
    for (std::size_t row = 0; row < static_cast<std::size_t>(x.dims[0]); ++row) {
      load(x.dtype, operands.input(0) + row * x_bytes, sample, values->data());
      for (std::size_t index = 0; index < sample; ++index) {
        const std::size_t p = index / segment;
        const auto deviation =
            static_cast<float>(std::sqrt(static_cast<double>(s[4][p]) + epsilon));
        (*values)[index] = ((*values)[index] - s[3][p]) / deviation * s[1][p] + s[2][p];
      }
      store(y.dtype, values->data(), sample, operands.output(0) + row * y_bytes);
    }
  });
}

/// Adds the lrn that the library lacks, over an even number of channels. ONNX sums `size` channels
/// around each. If the number is even, there is one more behind than before.
void normalize_response(const model::LayerSpec& spec,
                        const Device& /*device*/,
                        VariantBuilder::List& list) {
  require_operands(spec, 1);
  const model::TensorType x = *spec.inputs[0];
  const model::TensorType y = spec.outputs[0];
  const std::int64_t size = spec.integer("size");
  require(x.dims == y.dims && x.dims.size() >= 2 && size > 0,
          spec,
          "x and y must have one shape and size be positive");
  check_number(x.dtype);
  check_number(y.dtype);
  const auto channels = x.dims[1];
  const std::size_t spatial = product(x.dims, 2, x.dims.size());
  const std::size_t sample = static_cast<std::size_t>(channels) * spatial;
  const double alpha = spec.real("alpha") / static_cast<double>(size);
  const double beta = spec.real("beta");
  const double bias = spec.real("bias");
  auto in = std::make_shared<std::vector<float>>(sample);
  auto out = std::make_shared<std::vector<float>>(sample);
  add_own(list, spec, "lrn", [=](const KernelOperands& operands) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(x.dims[0]); ++row) {
      load(x.dtype,
           operands.input(0) +
               row * sample * static_cast<std::size_t>(model::element_bytes(x.dtype)),
           sample,
           in->data());
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::int64_t first = std::max<std::int64_t>(channel - (size - 1) / 2, 0);
        const std::int64_t last = std::min<std::int64_t>(channel + size / 2, channels - 1);
        for (std::size_t position = 0; position < spatial; ++position) {
          double squares = 0;
          for (std::int64_t other = first; other <= last; ++other) {
            const double value = (*in)[static_cast<std::size_t>(other) * spatial + position];
            squares += value * value;
          }
          const std::size_t index = static_cast<std::size_t>(channel) * spatial + position;
          (*out)[index] = (*in)[index] / static_cast<float>(std::pow(bias + alpha * squares, beta));
        }
      }
      store(y.dtype,
            out->data(),
            sample,
            operands.output(0) +
                row * sample * static_cast<std::size_t>(model::element_bytes(y.dtype)));
    }
  });
}

}  // namespace plumb::onednn
