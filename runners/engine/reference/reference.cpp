// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/engine/reference/numbers.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine {
namespace {

/// Reference function of one operator. It computes one output, moves bytes, or computes several
/// outputs.
struct Row {
  std::string_view op;
  std::size_t inputs;  ///< that must be given
  reference::Numbers (*compute)(const model::LayerSpec&, reference::Operands);
  std::vector<model::Tensor> (*move)(const model::LayerSpec&, reference::Tensors) = nullptr;
  std::vector<reference::Numbers> (*several)(const model::LayerSpec&,
                                             reference::Operands) = nullptr;
};

constexpr std::array kTable = std::to_array<Row>({
    {"conv", 2, reference::convolution},
    {"conv_transpose", 2, reference::convolution_transpose},
    {"gemm", 2, reference::general_matrix_product},
    {"matmul", 2, reference::batched_matrix_product},
    {"batch_norm", 5, reference::batch_normalization},
    {"layer_norm", 2, reference::layer_normalization},
    {"rms_norm", 2, reference::rms_normalization},
    {"instance_norm", 3, reference::instance_normalization},
    {"group_norm", 3, reference::group_normalization},
    {"lrn", 1, reference::local_response_normalization},
    {"max_pool", 1, reference::max_pooling},
    {"average_pool", 1, reference::average_pooling},
    {"lp_pool", 1, reference::lp_pooling},
    {"eltwise", 1, reference::elementwise},
    {"prelu", 2, reference::parametric_relu},
    {"binary", 2, reference::binary},
    {"sum", 1, reference::sum},
    {"softmax", 1, reference::softmax},
    {"concat", 1, nullptr, reference::concat},
    {"split", 1, nullptr, reference::split},
    {"slice", 1, nullptr, reference::slice},
    {"pad", 1, nullptr, reference::pad},
    {"transpose", 1, nullptr, reference::transpose},
    {"view", 1, nullptr, reference::view},
    {"gather", 2, nullptr, reference::gather},
    {"resize", 1, reference::resize},
    {"reduce", 1, reference::reduce},
    {"arg_reduce", 1, reference::arg_reduce},
    {"where", 3, nullptr, reference::where},
    {"cast", 1, reference::cast},
    {"expand", 1, nullptr, reference::expand},
    {"tile", 1, nullptr, reference::tile},
    {"depth_to_space", 1, nullptr, reference::depth_to_space},
    {"space_to_depth", 1, nullptr, reference::space_to_depth},
    {"attention", 3, nullptr, nullptr, reference::attention},
    {"matmul_integer", 2, reference::integer_matrix_product},
    {"conv_integer", 2, reference::integer_convolution},
    {"quantize", 2, reference::quantize},
    {"dequantize", 2, reference::dequantize},
    {"max", 3, reference::extreme},
    {"min", 3, reference::extreme},
    {"rnn", 3, nullptr, nullptr, reference::recurrent},
    {"gru", 3, nullptr, nullptr, reference::recurrent},
    {"lstm", 3, nullptr, nullptr, reference::recurrent},
    {"conv_backward_data", 2, reference::convolution_data_gradient},
    {"conv_backward_weights", 2, nullptr, nullptr, reference::convolution_weights_gradient},
    {"gemm_bias_gradient", 2, nullptr, nullptr, reference::product_and_bias_gradient},
    {"eltwise_backward", 2, reference::elementwise_gradient},
    {"softmax_backward", 2, reference::softmax_gradient},
    {"batch_norm_training", 3, nullptr, nullptr, reference::batch_normalization_of_batch},
    {"batch_norm_backward", 5, nullptr, nullptr, reference::batch_normalization_gradient},
    {"layer_norm_backward", 5, nullptr, nullptr, reference::layer_normalization_gradient},
    {"attention_backward", 6, nullptr, nullptr, reference::attention_gradient},
    {"max_pool_backward", 2, reference::max_pooling_gradient},
    {"gather_backward", 2, reference::gather_gradient},
    {"average_pool_backward", 1, reference::average_pooling_gradient},
    {"sgd", 2, nullptr, nullptr, reference::updated_weights},
    {"adam", 5, nullptr, nullptr, reference::updated_weights},
    {"lamb", 5, nullptr, nullptr, reference::updated_weights},
    {"loss_scale", 3, nullptr, nullptr, reference::adapted_loss_scale},
});

const Row* find_row(std::string_view op) {
  for (const Row& row : kTable) {
    if (row.op == op) {
      return &row;
    }
  }
  return nullptr;
}

void apply(const reference::EpilogueChain& epilogue, std::vector<double>& values) {
  for (std::size_t i = 0; !epilogue.empty() && i < values.size(); ++i) {
    values[i] = epilogue(values[i], i);
  }
}

}  // namespace

results::Outcome reference_support(const model::LayerSpec& spec) {
  const auto unsupported = [](std::string reason) {
    return results::Outcome{results::Outcome::Kind::kUnsupported, std::move(reason)};
  };
  const Row* row = find_row(spec.op);
  if (row == nullptr) {
    return unsupported(fmt::format("operator {} has no reference", spec.op));
  }
  for (std::size_t i = 0; i < row->inputs; ++i) {
    if (!spec.has_input(i)) {
      return unsupported(fmt::format("operand {} of a {} layer is missing", i, spec.op));
    }
  }
  if (spec.outputs.empty() || (spec.outputs.size() > 1 && row->compute != nullptr)) {
    return unsupported(
        fmt::format("a {} layer with {} outputs has no reference", spec.op, spec.outputs.size()));
  }
  std::vector<model::TensorType> types = spec.outputs;
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    if (input) {
      types.push_back(*input);
    }
  }
  for (const model::TensorType& type : types) {
    if (!is_number(type.dtype)) {
      return unsupported(fmt::format("type {} has no reference", to_text(type.dtype)));
    }
  }
  return {};
}

void check_reference_operands(const model::LayerSpec& spec,
                              std::span<const model::Tensor> operands) {
  const results::Outcome support = reference_support(spec);
  if (!support.ok()) {
    throw Error(Error::Kind::kUser, support.reason);
  }
  reference::require(
      operands.size() == spec.inputs.size(), spec, "operands are missing or too many");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (spec.has_input(i)) {
      reference::require(operands[i].type.dtype == spec.inputs[i]->dtype &&
                             operands[i].type.dims == spec.inputs[i]->dims &&
                             operands[i].data.size() ==
                                 static_cast<std::size_t>(model::byte_size(*spec.inputs[i]).value),
                         spec,
                         "an operand has another type, shape or size than the key says");
    }
  }
}

std::vector<model::Tensor> reference_outputs(const model::LayerSpec& spec,
                                             std::span<const model::Tensor> operands) {
  check_reference_operands(spec, operands);
  const reference::EpilogueChain epilogue(spec, operands);
  const model::LayerSpec own = reference::without_epilogue(spec);
  const Row& row = *find_row(spec.op);
  if (row.move != nullptr) {
    std::vector<model::Tensor> outputs = row.move(own, operands.first(own.inputs.size()));
    if (!epilogue.empty()) {
      std::vector<double> values = read_numbers(outputs[0]);
      apply(epilogue, values);
      outputs[0] = tensor_from(spec.outputs[0], values);
    }
    return outputs;
  }
  const std::vector<reference::Numbers> numbers = reference::numbers_of_operands(own, operands);
  std::vector<reference::Numbers> results;
  if (row.several != nullptr) {
    results = row.several(own, numbers);
  } else {
    results.push_back(row.compute(own, numbers));
  }
  apply(epilogue, results[0].values);
  if (spec.op == "gemm_bias_gradient" && spec.text("of") == "y") {
    reference::add_up_columns(results[0], results.at(1));
  }
  std::vector<model::Tensor> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(tensor_from(spec.outputs[i], results[i].values));
  }
  return outputs;
}

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
  const reference::Numbers::Broadcasting a_batch(spec, shape.a_batch, shape.batch);
  const reference::Numbers::Broadcasting b_batch(spec, shape.b_batch, shape.batch);
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
      const reference::Numbers::Broadcasting c(spec, spec.inputs[2]->dims, spec.outputs[0].dims);
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
