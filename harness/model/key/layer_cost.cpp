// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/layer_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/model/key/training_layers.hpp"

namespace plumb::model {
namespace {

/// Multiplies counts. Each shape is bounded (2^40 elements), but products of them are not.
std::int64_t product(std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(left, right, &result)) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("a layer needs {} × {} operations, more than 63 bits hold: check its shapes",
                    left,
                    right));
  }
  return result;
}

std::int64_t elements_from(const std::vector<std::int64_t>& dims, std::size_t first) {
  std::int64_t count = 1;
  for (std::size_t i = first; i < dims.size(); ++i) {
    count = product(count, dims[i]);
  }
  return count;
}

/// Counts the elements that one accumulation runs over. For a convolution these are the channels of
/// the group × the kernel.
std::int64_t count_reduction(const LayerSpec& spec) {
  if (spec.op == "conv" || spec.op == "conv_integer") {
    return elements_from(spec.inputs[1]->dims, 1);
  }
  const std::vector<std::int64_t>& a = spec.inputs[0]->dims;
  if (a.empty()) {
    return 1;
  }
  if (spec.op == "gemm" || spec.op == "gemm_bias_gradient") {
    return spec.integer("trans_a") != 0 ? a.front() : a.back();
  }
  return a.back();
}

/// Counts the pairs of query and key that meet, in all heads and batch entries.
std::int64_t attended(const LayerSpec& spec) {
  const AttentionShape shape = attention_shape(spec);
  return product(product(shape.batch, shape.q_heads), attended_pairs(spec, shape));
}

std::int64_t count_macs(const LayerSpec& spec) {
  if (is_convolution_gradient(spec)) {  // every product of the convolution once more
    return count_macs(forward_layer(spec));
  }
  if (spec.op == "conv" || spec.op == "gemm" || spec.op == "matmul" || is_integer_product(spec) ||
      spec.op == "gemm_bias_gradient") {
    return product(element_count(spec.outputs[0]), count_reduction(spec));
  }
  if (spec.op == "conv_transpose") {  // each input element meets every filter of its group
    return product(element_count(*spec.inputs[0]), elements_from(spec.inputs[1]->dims, 1));
  }
  if (spec.op == "attention") {  // scores and weighted values of the pairs that meet
    return product(attended(spec), attention_shape(spec).head + attention_shape(spec).value_head);
  }
  if (spec.op == "attention_backward") {  // scores again, dy·v, and the three gradients
    const LayerSpec forward = forward_layer(spec);
    const AttentionShape shape = attention_shape(forward);
    return product(attended(forward), 3 * shape.head + 2 * shape.value_head);
  }
  if (is_recurrent(spec)) {  // w·x and r·h, each step and direction
    const RecurrentShape shape = recurrent_shape(spec);
    return product(
        product(shape.steps, shape.batch),
        product(shape.directions * shape.gates, product(shape.hidden, shape.input + shape.hidden)));
  }
  return 0;
}

/// Counts the operations of a recurrent layer besides its products.
double recurrent_flops(const LayerSpec& spec) {
  const RecurrentShape shape = recurrent_shape(spec);
  // Each gate adds both products and the bias, and applies an activation. Then come gru's reset and
  // blend, or lstm's cell (3), its tanh and the product with the output gate, and the peephole.
  const std::int64_t state = spec.op == "gru" ? 4 : (spec.op == "lstm" ? 5 : 0);
  const std::int64_t each = shape.gates * 3 + state + (spec.has_input(6) ? 6 : 0);
  return static_cast<double>(shape.steps) * static_cast<double>(shape.batch) *
         static_cast<double>(shape.directions * shape.hidden) * static_cast<double>(each);
}

std::int64_t kernel_elements(const LayerSpec& spec) {
  return elements_from(spec.integers("kernel"), 0);
}

struct WorkRow {
  std::string_view op;
  double per_output;
  double per_input;
};

// Operations per element of the first output and of the first input, as the operator is defined, at
// inference.
constexpr std::array kWork = std::to_array<WorkRow>({
    {"batch_norm", 2, 0},  // one multiply-add: scale and shift are folded once
    {"layer_norm", 0, 7},  // mean 1, centre 1, squares 2, scale 1, affine 2
    {"rms_norm", 0, 4},    // squares 2, scale 1, weight 1
    {"instance_norm", 0, 7},
    {"group_norm", 0, 7},
    {"eltwise", 1, 0},
    {"prelu", 1, 0},
    {"binary", 1, 0},
    {"softmax", 5, 0},  // maximum, subtract, exponent, sum, divide
    {"reduce", 0, 1},
    {"arg_reduce", 0, 1},
    {"where", 1, 0},
    {"cast", 1, 0},
    {"quantize", 2, 0},  // scale and round
    {"dequantize", 1, 0},
    {"gather_backward", 0, 1},   // each row is added to one of the result
    {"eltwise_backward", 2, 0},  // the derivative, and its product with the gradient
    {"softmax_backward", 4, 0},  // product and sum, then subtract and multiply (log: an exponent)
    {"batch_norm_training", 7, 0},   // mean 1, centre 1, squares 2, scale 1, affine 2
    {"batch_norm_backward", 10, 0},  // centre and scale 2, sums 3, result 5
    {"layer_norm_backward", 13, 0},  // centre and scale 2, by weights 1, sums 6, result 4
});

double other_flops(const LayerSpec& spec) {
  const auto outputs = static_cast<double>(element_count(spec.outputs[0]));
  if (spec.op == "max_pool" || spec.op == "average_pool" || spec.op == "lp_pool") {
    return outputs * static_cast<double>(kernel_elements(spec)) * (spec.op == "lp_pool" ? 2 : 1);
  }
  if (spec.op == "max_pool_backward" || spec.op == "average_pool_backward") {
    return static_cast<double>(element_count(*spec.inputs[0])) *
           static_cast<double>(kernel_elements(spec));
  }
  if (spec.op == "conv_backward_weights") {
    return spec.outputs.size() > 1 ? static_cast<double>(element_count(*spec.inputs[0])) : 0.0;
  }
  if (spec.op == "gemm_bias_gradient") {  // one addition for each number that is summed
    const std::string& of = spec.text("of");
    return of == "y" ? outputs
                     : static_cast<double>(element_count(*spec.inputs[of == "a" ? 0 : 1]));
  }
  if (spec.op == "lrn") {  // squares and their sum over the window, then scale, add, power, divide
    return outputs * (2.0 * static_cast<double>(spec.integer("size")) + 4.0);
  }
  if (is_recurrent(spec)) {
    return recurrent_flops(spec);
  }
  if (is_update(spec)) {
    return update_flops(spec);
  }
  if (spec.op == "attention") {  // scale and softmax; the cap divides, saturates, multiplies
    const double each =
        6.0 + (spec.real("softcap") > 0.0 ? 2.0 : 0.0) + (spec.has_input(3) ? 1.0 : 0.0);
    return each * static_cast<double>(attended(spec));
  }
  if (spec.op == "attention_backward") {  // softmax again 3, its gradient 3; dy·y of each query
    return 6.0 * static_cast<double>(attended(forward_layer(spec))) +
           2.0 * static_cast<double>(element_count(*spec.inputs[0]));
  }
  if (spec.op == "sum" || spec.op == "max" || spec.op == "min") {
    return outputs * static_cast<double>(spec.inputs.size() - 1);
  }
  if (spec.op == "resize" && spec.text("mode") != "nearest") {
    const double taps = spec.text("mode") == "cubic" ? 4.0 : 2.0;
    double weights = 1.0;
    for (const double scale : spec.reals("scales")) {
      weights *= scale == 1.0 ? 1.0 : taps;
    }
    return outputs * 2.0 * weights;
  }
  for (const WorkRow& row : kWork) {
    if (row.op == spec.op) {
      return outputs * row.per_output +
             static_cast<double>(element_count(*spec.inputs[0])) * row.per_input;
    }
  }
  return 0.0;  // data movement
}

double epilogue_flops(const LayerSpec& spec) {
  const bool has_bias = (spec.op == "conv" || spec.op == "conv_integer" ||
                         spec.op == "conv_transpose" || spec.op == "gemm") &&
                        spec.has_input(2);
  const std::size_t steps = spec.epilogue.size() + (has_bias ? 1 : 0);
  return static_cast<double>(element_count(spec.outputs[0])) * static_cast<double>(steps);
}

/// Returns the factor by which the cheapest algorithm class in use saves multiplications against
/// the definition.
/// - 3×3: Winograd F(4×4, 3×3), 36 multiplications for 16 outputs instead of 144 (Lavin & Gray
///   2016, §4.1).
/// - Larger kernels: FFT over 32×32 tiles. Each (33 − r)(33 − s) outputs take 32·17 complex
///   products of 4 real multiplications (Mathieu, Henaff & LeCun 2014, §2).
///
/// Transforms are not counted, so that a bound stays a bound.
double fewest_ratio(const LayerSpec& spec) {
  constexpr double kFftProducts = 32.0 * 17.0 * 4.0;
  if (is_convolution_gradient(spec)) {  // transposing a bilinear algorithm keeps its products
    return fewest_ratio(forward_layer(spec));
  }
  if (spec.op != "conv" || spec.inputs[0]->dims.size() != 4 || spec.integer("group") != 1 ||
      spec.integers("strides") != std::vector<std::int64_t>{1, 1} ||
      spec.integers("dilations") != std::vector<std::int64_t>{1, 1}) {
    return 1.0;
  }
  const auto rows = static_cast<double>(spec.inputs[1]->dims[2]);
  const auto columns = static_cast<double>(spec.inputs[1]->dims[3]);
  if (rows == 3.0 && columns == 3.0) {
    return 4.0;
  }
  if (rows < 3.0 || columns < 3.0 || rows > 32.0 || columns > 32.0) {
    return 1.0;
  }
  return std::max(1.0, rows * columns * (33.0 - rows) * (33.0 - columns) / kFftProducts);
}

/// Counts the bytes of an operand that every execution must touch.
Bytes touched_bytes(const LayerSpec& spec, std::size_t operand) {
  const Bytes whole = byte_size(*spec.inputs[operand]);
  if (operand == 0 && (spec.op == "gather" || spec.op == "slice")) {
    return Bytes{std::min(whole.value, byte_size(spec.outputs[0]).value)};
  }
  return whole;
}

}  // namespace

LayerCost compute_cost(const LayerSpec& spec) {
  LayerCost cost;
  if (spec.op == "view") {
    return cost;
  }
  cost.macs = count_macs(spec);
  const double multiply_adds = 2.0 * static_cast<double>(cost.macs);
  const double rest = other_flops(spec) + epilogue_flops(spec);
  cost.flops = Flops{multiply_adds + rest};
  cost.minimum_flops = Flops{multiply_adds / fewest_ratio(spec) + rest};
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i]) {
      (spec.inputs[i]->constant ? cost.weight_bytes : cost.input_bytes) += touched_bytes(spec, i);
    }
  }
  for (const TensorType& output : spec.outputs) {
    cost.output_bytes += byte_size(output);
  }
  return cost;
}

double rough_cost(const LayerSpec& spec) {
  constexpr double kOperationsPerByte = 8.0;
  const LayerCost cost = compute_cost(spec);
  const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
  return cost.flops.value + kOperationsPerByte * static_cast<double>(bytes.value);
}

}  // namespace plumb::model
