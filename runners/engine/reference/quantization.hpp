// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {

/// Rounds to the nearest integer, ties to even, and clamps to the range of an integer type.
[[nodiscard]] double saturated(double value, model::DataType type);

/// Conversion of an integer product's s32 accumulators into its result (ONNX, QLinearConv).
///
/// It multiplies by the operands' scales and, where the result has a scale, rounds to its grid.
/// Does nothing without scales. Refers to the operands it was made with.
class Requantization {
 public:
  Requantization(const model::LayerSpec& spec, std::span<const model::Tensor> operands);

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

/// Fused epilogue of a layer, applied to single elements of its first output in list order.
///
/// For an integer product with scales it works on the real numbers of the accumulators, and then
/// rounds to the result's scale. Refers to the operands it was made with.
class EpilogueChain {
 public:
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
    std::optional<Broadcast> broadcast;
  };
  std::vector<Step> steps_;
  Requantization requantization_;
  bool scaled_;
};

/// Returns the layer without its epilogue and without the operands that only the epilogue reads.
[[nodiscard]] model::LayerSpec without_epilogue(const model::LayerSpec& spec);

}  // namespace plumb::engine::reference
