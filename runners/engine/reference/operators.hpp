// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runners/engine/reference/numbers.hpp"
#include "runners/engine/reference/reference.hpp"

/// References of the operators of docs/reference/layer-keys.md, one file for each family. The table
/// in reference.cpp names them. All throw Error{kUser} for contradicting shapes. None applies the
/// epilogue.
namespace plumb::reference {

// convolution.cpp, convolution_transpose.cpp
[[nodiscard]] Numbers convolution(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers convolution_transpose(const LayerSpec& spec, Operands operands);

[[nodiscard]] Numbers convolution_data_gradient(const LayerSpec& spec, Operands operands);
// convolution_gradient.cpp
[[nodiscard]] std::vector<Numbers> convolution_weights_gradient(const LayerSpec& spec,
                                                                Operands operands);
/// Computes some elements of output 0 (the weights' gradient) or 1 (the bias').
[[nodiscard]] std::vector<double> convolution_weights_elements(
    const LayerSpec& spec,
    std::span<const Tensor> operands,
    std::size_t output,
    std::span<const std::size_t> elements);

// matrix_product.cpp
/// Computes the product of a `gemm_bias_gradient` and the sums of one of its factors.
[[nodiscard]] std::vector<Numbers> product_and_bias_gradient(const LayerSpec& spec,
                                                             Operands operands);
/// Adds up the columns of the result, fused steps included, which is the bias gradient of `of=y`.
void add_up_columns(const Numbers& result, Numbers& bias);
[[nodiscard]] Numbers general_matrix_product(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers batched_matrix_product(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers integer_matrix_product(const LayerSpec& spec, Operands operands);

// normalization_gradient.cpp
[[nodiscard]] std::vector<Numbers> batch_normalization_gradient(const LayerSpec& spec,
                                                                Operands operands);
[[nodiscard]] std::vector<Numbers> layer_normalization_gradient(const LayerSpec& spec,
                                                                Operands operands);

// normalization.cpp
[[nodiscard]] Numbers batch_normalization(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers layer_normalization(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers rms_normalization(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers instance_normalization(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers group_normalization(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers local_response_normalization(const LayerSpec& spec, Operands operands);

// pooling.cpp
[[nodiscard]] Numbers max_pooling(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers average_pooling(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers lp_pooling(const LayerSpec& spec, Operands operands);

// pooling_gradient.cpp
[[nodiscard]] Numbers max_pooling_gradient(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers average_pooling_gradient(const LayerSpec& spec, Operands operands);

// elementwise.cpp
using UnaryFunction = double (*)(double x, std::span<const double> parameters);
struct Unary {
  UnaryFunction function;
  std::size_t parameters;  ///< number of parameters
};
/// Finds a function of the `eltwise` operator.
[[nodiscard]] std::optional<Unary> find_unary(std::string_view fn);
[[nodiscard]] Numbers elementwise(const LayerSpec& spec, Operands operands);
// elementwise_gradient.cpp
/// Finds the derivative of a function of the `eltwise` operator.
[[nodiscard]] std::optional<Unary> find_derivative(std::string_view fn);
[[nodiscard]] Numbers elementwise_gradient(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers parametric_relu(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers cast(const LayerSpec& spec, Operands operands);

// binary.cpp
using BinaryFunction = double (*)(double a, double b);
/// Finds a function of the `binary` operator; `integers`: both operands hold integers.
[[nodiscard]] BinaryFunction find_binary(std::string_view fn, bool integers);
[[nodiscard]] Numbers binary(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers sum(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers extreme(const LayerSpec& spec, Operands operands);

// softmax.cpp, reduction.cpp, resize.cpp
[[nodiscard]] Numbers softmax(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers softmax_gradient(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers reduce(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers arg_reduce(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers resize(const LayerSpec& spec, Operands operands);

// attention.cpp, recurrent.cpp: operators with several outputs
[[nodiscard]] std::vector<Numbers> attention(const LayerSpec& spec, Operands operands);
/// Computes whole rows of a layer: `count` elements or a few more, and as many of each other
/// output.
[[nodiscard]] std::vector<SampledElement> attention_samples(const LayerSpec& spec,
                                                            Operands operands,
                                                            std::size_t count,
                                                            std::uint64_t seed);
// attention_gradient.cpp
[[nodiscard]] std::vector<Numbers> attention_gradient(const LayerSpec& spec, Operands operands);
[[nodiscard]] std::vector<SampledElement> attention_gradient_samples(const LayerSpec& spec,
                                                                     Operands operands,
                                                                     std::size_t count,
                                                                     std::uint64_t seed);
[[nodiscard]] std::vector<Numbers> recurrent(const LayerSpec& spec, Operands operands);
/// Computes some outputs of a layer that is too long to compute whole: `count` or a few more.
///
/// States after the last step need all steps of an entry. They are among the samples if that takes
/// at most a million multiply-accumulates for each of the `count` samples, or if the layer gives
/// out no sequence.
[[nodiscard]] std::vector<SampledElement> recurrent_samples(const LayerSpec& spec,
                                                            Operands operands,
                                                            std::size_t count,
                                                            std::uint64_t seed);

// quantization.cpp
[[nodiscard]] Numbers quantize(const LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers dequantize(const LayerSpec& spec, Operands operands);
/// Computes the accumulators. Requantization applies the scales.
[[nodiscard]] Numbers integer_convolution(const LayerSpec& spec, Operands operands);

// movement.cpp, selection.cpp: operators that move bytes, exact in every type
using Tensors = std::span<const Tensor>;
[[nodiscard]] std::vector<Tensor> concat(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> split(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> slice(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> transpose(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> view(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> expand(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> tile(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> depth_to_space(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> space_to_depth(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> pad(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> gather(const LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<Tensor> where(const LayerSpec& spec, Tensors operands);

}  // namespace plumb::reference
