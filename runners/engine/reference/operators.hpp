// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runners/engine/reference/numbers.hpp"

/// References of the operators of docs/reference/layer-keys.md, one file for each family. The table
/// in reference.cpp names them. All throw Error{kUser} for contradicting shapes. None applies the
/// epilogue.

namespace plumb::engine::reference {

// convolution.cpp
[[nodiscard]] Numbers convolution(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers convolution_transpose(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers convolution_data_gradient(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] std::vector<Numbers> convolution_weights_gradient(const model::LayerSpec& spec,
                                                                Operands operands);
/// Computes some elements of output 0 (the weights' gradient) or 1 (the bias').
[[nodiscard]] std::vector<double> convolution_weights_elements(
    const model::LayerSpec& spec,
    std::span<const model::Tensor> operands,
    std::size_t output,
    std::span<const std::size_t> elements);

// matrix_panel.cpp
/// Computes the product of a `gemm_bias_gradient` and the sums of one of its factors.
[[nodiscard]] std::vector<Numbers> product_and_bias_gradient(const model::LayerSpec& spec,
                                                             Operands operands);
/// Adds up the columns of the result, fused steps included, which is the bias gradient of `of=y`.
void add_up_columns(const Numbers& result, Numbers& bias);
[[nodiscard]] Numbers general_matrix_product(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers batched_matrix_product(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers integer_matrix_product(const model::LayerSpec& spec, Operands operands);

// update.cpp
/// Computes new weights and states by an optimiser's rule, tensor after tensor.
[[nodiscard]] std::vector<Numbers> updated_weights(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] std::vector<Numbers> adapted_loss_scale(const model::LayerSpec& spec,
                                                      Operands operands);

// normalization.cpp
[[nodiscard]] Numbers batch_normalization(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers layer_normalization(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers rms_normalization(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers instance_normalization(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers group_normalization(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers local_response_normalization(const model::LayerSpec& spec, Operands operands);
/// Normalizes each channel by its own mean and variance, which are the other results.
[[nodiscard]] std::vector<Numbers> batch_normalization_of_batch(const model::LayerSpec& spec,
                                                                Operands operands);
[[nodiscard]] std::vector<Numbers> batch_normalization_gradient(const model::LayerSpec& spec,
                                                                Operands operands);
[[nodiscard]] std::vector<Numbers> layer_normalization_gradient(const model::LayerSpec& spec,
                                                                Operands operands);
[[nodiscard]] Numbers softmax(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers softmax_gradient(const model::LayerSpec& spec, Operands operands);

// pooling.cpp
[[nodiscard]] Numbers max_pooling(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers average_pooling(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers lp_pooling(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers max_pooling_gradient(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers average_pooling_gradient(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers resize(const model::LayerSpec& spec, Operands operands);

// elementwise.cpp
using UnaryFunction = double (*)(double x, std::span<const double> parameters);
struct Unary {
  UnaryFunction function;
  std::size_t parameters;  ///< number of parameters
};
/// Finds a function of the `eltwise` operator.
[[nodiscard]] std::optional<Unary> find_unary(std::string_view fn);
[[nodiscard]] Numbers elementwise(const model::LayerSpec& spec, Operands operands);
/// Finds the derivative of a function of the `eltwise` operator.
[[nodiscard]] std::optional<Unary> find_derivative(std::string_view fn);
[[nodiscard]] Numbers elementwise_gradient(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers parametric_relu(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers cast(const model::LayerSpec& spec, Operands operands);
using BinaryFunction = double (*)(double a, double b);
/// Finds a function of the `binary` operator; `integers`: both operands hold integers.
[[nodiscard]] BinaryFunction find_binary(std::string_view fn, bool integers);
[[nodiscard]] Numbers binary(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers sum(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers extreme(const model::LayerSpec& spec, Operands operands);

// reduction.cpp
[[nodiscard]] Numbers reduce(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers arg_reduce(const model::LayerSpec& spec, Operands operands);

// attention.cpp
[[nodiscard]] std::vector<Numbers> attention(const model::LayerSpec& spec, Operands operands);
/// Computes whole rows of a layer: `count` elements or a few more, and as many of each other
/// output.
[[nodiscard]] std::vector<SampledElement> attention_samples(const model::LayerSpec& spec,
                                                            Operands operands,
                                                            std::size_t count,
                                                            std::uint64_t seed);
[[nodiscard]] std::vector<Numbers> attention_gradient(const model::LayerSpec& spec,
                                                      Operands operands);
[[nodiscard]] std::vector<SampledElement> attention_gradient_samples(const model::LayerSpec& spec,
                                                                     Operands operands,
                                                                     std::size_t count,
                                                                     std::uint64_t seed);

// recurrent.cpp
[[nodiscard]] std::vector<Numbers> recurrent(const model::LayerSpec& spec, Operands operands);
/// Computes some outputs of a layer that is too long to compute whole: `count` or a few more.
///
/// States after the last step need all steps of an entry. They are among the samples if that takes
/// at most a million multiply-accumulates for each of the `count` samples, or if the layer gives
/// out no sequence.
[[nodiscard]] std::vector<SampledElement> recurrent_samples(const model::LayerSpec& spec,
                                                            Operands operands,
                                                            std::size_t count,
                                                            std::uint64_t seed);

// operators.cpp
[[nodiscard]] Numbers quantize(const model::LayerSpec& spec, Operands operands);
[[nodiscard]] Numbers dequantize(const model::LayerSpec& spec, Operands operands);
/// Computes the accumulators. EpilogueChain::Requantizer applies the scales.
[[nodiscard]] Numbers integer_convolution(const model::LayerSpec& spec, Operands operands);

// movement.cpp
[[nodiscard]] Numbers gather_gradient(const model::LayerSpec& spec, Operands operands);
// Operators that move bytes are exact in every type.
using Tensors = std::span<const model::Tensor>;
[[nodiscard]] std::vector<model::Tensor> concat(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> split(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> slice(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> transpose(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> view(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> expand(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> tile(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> depth_to_space(const model::LayerSpec& spec,
                                                        Tensors operands);
[[nodiscard]] std::vector<model::Tensor> space_to_depth(const model::LayerSpec& spec,
                                                        Tensors operands);
[[nodiscard]] std::vector<model::Tensor> pad(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> gather(const model::LayerSpec& spec, Tensors operands);
[[nodiscard]] std::vector<model::Tensor> where(const model::LayerSpec& spec, Tensors operands);

/// Number of columns of the right-hand matrix that one call of multiply_panel handles.
inline constexpr std::size_t kPanelColumns = 16;

/// Adds left × panel to `result` in float64. This is the hot loop of convolutions and matrix
/// products.
///
/// left: rows × depth, dense, row-major. panel: depth × kPanelColumns, dense, row-major, unused
/// columns 0. result: rows × columns (at most kPanelColumns), with `result_stride` elements from
/// row to row.
void multiply_panel(const double* left,
                    std::size_t rows,
                    std::size_t depth,
                    const double* panel,
                    double* result,
                    std::size_t result_stride,
                    std::size_t columns);

/// Rounds to the nearest integer, ties to even, and clamps to the range of an integer type.
[[nodiscard]] double saturated(double value, model::DataType type);

/// Fused epilogue of a layer, applied to single elements of its first output in list order.
///
/// For an integer product with scales it works on the real numbers of the accumulators, and then
/// rounds to the result's scale. Refers to the operands it was made with.
class EpilogueChain {
 public:
  /// Conversion of an integer product's s32 accumulators into its result (ONNX, QLinearConv).
  ///
  /// It multiplies by the operands' scales and, where the result has a scale, rounds to its grid.
  /// Does nothing without scales. Refers to the operands it was made with.
  class Requantizer {
   public:
    Requantizer(const model::LayerSpec& spec, std::span<const model::Tensor> operands);

    /// Returns the real number of an accumulator: with its scales, and with a bias of real numbers.
    [[nodiscard]] double real(double accumulator, std::size_t element) const;
    /// Returns the stored value of a real number in the result.
    [[nodiscard]] double stored(double value) const;

   private:
    const model::LayerSpec& spec_;
    const model::Tensor* w_scale_ = nullptr;  // null: no scales
    const model::Tensor* bias_ = nullptr;     // in the result's unit
    double x_scale_ = 1.0;
    std::optional<double> y_scale_;
    double y_zero_point_ = 0.0;
    std::size_t channels_ = 1;
    std::size_t behind_channels_ = 1;  // elements
  };

  /// Looks up the functions of the epilogue. Throws Error{kUser} for an unknown function or an
  /// operand that does not broadcast to the output.
  EpilogueChain(const model::LayerSpec& spec, std::span<const model::Tensor> operands);

  [[nodiscard]] bool empty() const { return steps_.empty() && !scaled_; }
  /// Applies the epilogue to `value`, the layer's own result at `element` of the dense output.
  [[nodiscard]] double operator()(double value, std::size_t element) const;

 private:
  struct Step {
    UnaryFunction unary = nullptr;  // either this one, with its parameters…
    std::vector<double> parameters;
    BinaryFunction binary = nullptr;  // …or this one, with its operand, or none: a mask of bits
    UnaryFunction derivative = nullptr;  // …or this one's product, at its operand
    std::size_t row = 0;                 // of a mask of bits: elements of a row of the output
    const model::Tensor* operand = nullptr;
    std::optional<Numbers::Broadcasting> broadcast;
  };
  std::vector<Step> steps_;
  Requantizer requantization_;
  bool scaled_;
};

/// Returns the layer without its epilogue and without the operands that only the epilogue reads.
[[nodiscard]] model::LayerSpec without_epilogue(const model::LayerSpec& spec);

}  // namespace plumb::engine::reference
