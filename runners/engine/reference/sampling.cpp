// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <set>

#include "harness/base/error.hpp"
#include "harness/model/key/product_kind.hpp"
#include "harness/model/key/sequence_shapes.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/engine/reference/operators.hpp"
#include "runners/engine/reference/product_shapes.hpp"
#include "runners/engine/reference/quantization.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::engine {
namespace {

using reference::ConvolutionShape;
using reference::Dims;

/// Picks output elements: corners first, then seeded ones, of which every other lies on a border.
std::vector<std::size_t> picked_elements(const Dims& dims, std::size_t count, std::uint64_t seed) {
  const auto total = static_cast<std::size_t>(reference::product(dims));
  if (total <= count) {
    std::vector<std::size_t> all(total);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  std::set<std::size_t> picked;
  const RandomStream random(seed);
  const std::size_t corners = std::size_t{1} << std::min<std::size_t>(dims.size(), 5);
  for (std::uint64_t draw = 0; picked.size() < count; ++draw) {
    std::size_t element = 0;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      const auto extent = static_cast<std::uint64_t>(dims[axis]);
      std::uint64_t at = random.below(draw * 8 + axis, extent);
      const bool border = draw % 2 == 0 && axis == random.below(draw * 8 + 7, dims.size());
      if (draw < corners || border) {
        const bool end = draw < corners ? ((draw >> axis) & 1U) != 0 : at % 2 == 0;
        at = end ? extent - 1 : 0;
      }
      element = element * extent + at;
    }
    picked.insert(element);
  }
  return {picked.begin(), picked.end()};
}

ConvolutionShape::Spatial position_of(std::int64_t element,
                                      const ConvolutionShape::Spatial& extents) {
  return {
      element / (extents[1] * extents[2]), element / extents[2] % extents[1], element % extents[2]};
}

bool inside(const ConvolutionShape::Spatial& at, const ConvolutionShape::Spatial& extents) {
  return at[0] >= 0 && at[0] < extents[0] && at[1] >= 0 && at[1] < extents[1] && at[2] >= 0 &&
         at[2] < extents[2];
}

std::int64_t element_of(const ConvolutionShape::Spatial& at,
                        const ConvolutionShape::Spatial& extents) {
  return (at[0] * extents[1] + at[1]) * extents[2] + at[2];
}

/// Computes the input position that a kernel position pairs with an output position. Returns false
/// if there is none.
bool input_position(const ConvolutionShape& shape,
                    bool transposed,
                    const ConvolutionShape::Spatial& out,
                    const ConvolutionShape::Spatial& tap,
                    ConvolutionShape::Spatial& in) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (transposed) {
      const std::int64_t origin = out[axis] + shape.pads[axis] - tap[axis] * shape.dilations[axis];
      if (origin < 0 || origin % shape.strides[axis] != 0) {
        return false;
      }
      in[axis] = origin / shape.strides[axis];
    } else {
      in[axis] = shape.image_position(axis, out[axis], tap[axis]);
    }
  }
  return inside(in, transposed ? shape.grid : shape.image);
}

/// Reads the zero point of an operand, or of one of its channels; 0 if there is none.
double zero_point(const model::LayerSpec& spec,
                  std::span<const model::Tensor> operands,
                  std::size_t operand,
                  std::int64_t channel) {
  if (!spec.has_input(operand)) {
    return 0.0;
  }
  const bool each = element_count(*spec.inputs[operand]) > 1;
  return number_at(operands[operand], each ? static_cast<std::size_t>(channel) : 0);
}

double convolution_element(const model::LayerSpec& spec,
                           const ConvolutionShape& shape,
                           std::span<const model::Tensor> operands,
                           std::size_t element) {
  // A gradient by the data has the same sums as a transposed convolution.
  const bool transposed = spec.op == "conv_transpose" || spec.op == "conv_backward_data";
  const ConvolutionShape::Spatial& out = transposed ? shape.image : shape.grid;
  const ConvolutionShape::Spatial& in = transposed ? shape.grid : shape.image;
  const std::int64_t in_channels = transposed ? shape.grid_channels : shape.image_channels;
  const std::int64_t out_channels = transposed ? shape.image_channels : shape.grid_channels;
  const std::int64_t in_group = in_channels / shape.group;
  const std::int64_t out_group = out_channels / shape.group;
  const std::int64_t out_volume = ConvolutionShape::volume(out);
  const std::int64_t in_volume = ConvolutionShape::volume(in);
  const std::int64_t taps = ConvolutionShape::volume(shape.kernel);

  const auto at = static_cast<std::int64_t>(element);
  const std::int64_t channel = at / out_volume % out_channels;
  const std::int64_t batch = at / out_volume / out_channels;
  const std::int64_t group = channel / out_group;
  const ConvolutionShape::Spatial position = position_of(at % out_volume, out);
  const bool integers = spec.op == "conv_integer";
  const model::QuantizedProduct quantized =
      integers ? model::quantized_product(spec) : model::QuantizedProduct{};
  const double x_zero = integers ? zero_point(spec, operands, quantized.x_zero_point, channel) : 0;
  const double w_zero = integers ? zero_point(spec, operands, quantized.w_zero_point, channel) : 0;
  // A bias of real numbers is added after the scales.
  const bool biased = spec.has_input(2) && !(integers && model::is_floating(spec.inputs[2]->dtype));
  double result = biased ? number_at(operands[2], static_cast<std::size_t>(channel)) : 0.0;
  const ElementReader read_x = reader_of(operands[0].type.dtype);
  const ElementReader read_w = reader_of(operands[1].type.dtype);
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    ConvolutionShape::Spatial from{};
    if (!input_position(shape, transposed, position, position_of(tap, shape.kernel), from)) {
      continue;
    }
    for (std::int64_t c = 0; c < in_group; ++c) {
      const std::int64_t x =
          (batch * in_channels + group * in_group + c) * in_volume + element_of(from, in);
      const std::int64_t w =
          transposed ? ((group * in_group + c) * out_group + channel % out_group) * taps + tap
                     : (channel * in_group + c) * taps + tap;
      result += (read_x(operands[0].data.data(), static_cast<std::size_t>(x)) - x_zero) *
                (read_w(operands[1].data.data(), static_cast<std::size_t>(w)) - w_zero);
    }
  }
  return result;
}

double matrix_element(const model::LayerSpec& spec,
                      const reference::MatrixShape& shape,
                      std::span<const model::Tensor> operands,
                      std::size_t element) {
  const std::size_t column = element % shape.columns;
  const std::size_t row = element / shape.columns % shape.rows;
  const std::size_t batch = element / shape.columns / shape.rows;
  const reference::Broadcast a_batch(spec, shape.a_batch, shape.batch);
  const reference::Broadcast b_batch(spec, shape.b_batch, shape.batch);
  const std::size_t a = a_batch(batch) * shape.rows * shape.depth + row * shape.a_row;
  const std::size_t b = b_batch(batch) * shape.depth * shape.columns + column * shape.b_column;
  const ElementReader read_a = reader_of(operands[0].type.dtype);
  const ElementReader read_b = reader_of(operands[1].type.dtype);
  const bool integers = spec.op == "matmul_integer";
  const double a_zero = integers ? zero_point(spec, operands, 2, 0) : 0.0;
  const double b_zero = integers ? zero_point(spec, operands, 3, 0) : 0.0;
  double result = 0.0;
  for (std::size_t k = 0; k < shape.depth; ++k) {
    result += (read_a(operands[0].data.data(), a + k * shape.a_depth) - a_zero) *
              (read_b(operands[1].data.data(), b + k * shape.b_depth) - b_zero);
  }
  if (spec.op == "gemm") {
    result *= spec.real("alpha");
    if (spec.has_input(2)) {
      const reference::Broadcast c(spec, spec.inputs[2]->dims, spec.outputs[0].dims);
      result += spec.real("beta") * number_at(operands[2], c(element));
    }
  }
  return result;
}

/// Samples a convolution's gradients by the weights and by the bias.
std::vector<SampledElement> weights_gradient_samples(const model::LayerSpec& spec,
                                                     std::span<const model::Tensor> operands,
                                                     std::size_t count,
                                                     std::uint64_t seed) {
  std::vector<SampledElement> samples;
  for (std::size_t output = 0; output < spec.outputs.size(); ++output) {
    const std::vector<std::size_t> picked =
        picked_elements(spec.outputs[output].dims, count, seed + output);
    const std::vector<double> values =
        reference::convolution_weights_elements(spec, operands, output, picked);
    for (std::size_t i = 0; i < picked.size(); ++i) {
      samples.push_back({output, picked[i], values[i]});
    }
  }
  return samples;
}

/// Samples the bias gradient that a product has beside it. Sums over the result, fused steps
/// included, take whole columns. As many columns are taken as `count` elements of the result make.
void add_bias_gradient_samples(const model::LayerSpec& spec,
                               const reference::MatrixShape& shape,
                               const reference::EpilogueChain& epilogue,
                               std::span<const model::Tensor> operands,
                               std::size_t count,
                               std::uint64_t seed,
                               std::vector<SampledElement>& samples) {
  const std::string& of = spec.text("of");
  const std::size_t most =
      of == "y" ? std::max<std::size_t>(1, count / std::max<std::size_t>(1, shape.rows)) : count;
  const model::LayerSpec product = reference::without_epilogue(model::product_of(spec));
  for (const std::size_t element : picked_elements(spec.outputs.at(1).dims, most, seed + 1)) {
    double total = 0.0;
    if (of == "y") {
      for (std::size_t row = 0; row < shape.rows; ++row) {
        const std::size_t at = row * shape.columns + element;
        total += epilogue(matrix_element(product, shape, operands, at), at);
      }
    } else {
      const std::size_t first = element * (of == "a" ? shape.a_row : shape.b_column);
      const std::size_t step = of == "a" ? shape.a_depth : shape.b_depth;
      for (std::size_t k = 0; k < shape.depth; ++k) {
        total += number_at(operands[of == "a" ? 0 : 1], first + k * step);
      }
    }
    samples.push_back({1, element, total});
  }
}

}  // namespace

bool has_sampled_reference(const model::LayerSpec& spec) {
  return model::is_convolution_gradient(spec) || spec.op == "gemm_bias_gradient" ||
         spec.op == "conv" || spec.op == "conv_transpose" || spec.op == "gemm" ||
         spec.op == "matmul" || model::is_integer_product(spec) || spec.op == "attention" ||
         spec.op == "attention_backward" || model::is_recurrent(spec);
}

std::vector<SampledElement> sampled_reference(const model::LayerSpec& spec,
                                              std::span<const model::Tensor> operands,
                                              std::size_t count,
                                              std::uint64_t seed) {
  PLUMB_CHECK(has_sampled_reference(spec));
  check_reference_operands(spec, operands);
  const reference::EpilogueChain epilogue(spec, operands);
  const model::LayerSpec own = reference::without_epilogue(spec);
  if (model::is_recurrent(spec) || spec.op == "attention" || spec.op == "attention_backward") {
    const auto sample_rows = model::is_recurrent(spec) ? reference::recurrent_samples
                             : spec.op == "attention"  ? reference::attention_samples
                                                       : reference::attention_gradient_samples;
    std::vector<SampledElement> samples =
        sample_rows(own, reference::numbers_of_operands(own, operands), count, seed);
    for (SampledElement& sample : samples) {
      sample.value = sample.output == 0 ? epilogue(sample.value, sample.element) : sample.value;
    }
    return samples;
  }
  if (spec.op == "conv_backward_weights") {
    return weights_gradient_samples(own, operands, count, seed);
  }
  const bool gradient = spec.op == "conv_backward_data";
  const bool is_convolution =
      spec.op == "conv" || spec.op == "conv_integer" || spec.op == "conv_transpose" || gradient;
  const bool biased = spec.op == "gemm_bias_gradient";
  const model::LayerSpec plain = biased ? model::product_of(own) : own;
  const ConvolutionShape convolution =
      is_convolution ? reference::convolution_shape(gradient ? model::forward_layer(own) : own)
                     : ConvolutionShape{};
  const reference::MatrixShape matrix =
      is_convolution ? reference::MatrixShape{} : reference::matrix_shape(plain);
  std::vector<SampledElement> samples;
  for (const std::size_t element : picked_elements(spec.outputs[0].dims, count, seed)) {
    const double value = is_convolution ? convolution_element(own, convolution, operands, element)
                                        : matrix_element(plain, matrix, operands, element);
    samples.push_back({0, element, epilogue(value, element)});
  }
  if (biased) {
    add_bias_gradient_samples(spec, matrix, epilogue, operands, count, seed, samples);
  }
  return samples;
}

}  // namespace plumb::engine
