// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "runners/engine/reference/operators.hpp"

namespace plumb::reference {

/// Rounds to the nearest integer, ties to even, and into the range of an integer type.
[[nodiscard]] double saturated(double value, DataType type);

/// Turns the s32 accumulators of an integer product into its result (ONNX, QLinearConv): times the
/// operands' scales and, where the result has a scale, onto its grid. Does nothing without scales.
/// Refers to the operands it was made with.
class Requantization {
 public:
  Requantization(const LayerSpec& spec, std::span<const Tensor> operands);

  /// Returns the real number that an accumulator stands for.
  [[nodiscard]] double real(double accumulator, std::size_t element) const;
  /// Returns what the result holds for a real number.
  [[nodiscard]] double stored(double value) const;

 private:
  const LayerSpec& spec_;
  const Tensor* w_scale_ = nullptr;  // absent: no scales
  const Tensor* bias_ = nullptr;     // in the result's unit
  double x_scale_ = 1.0;
  std::optional<double> y_scale_;
  double y_zero_point_ = 0.0;
  std::size_t channels_ = 1;
  std::size_t behind_channels_ = 1;  // elements
};

}  // namespace plumb::reference
