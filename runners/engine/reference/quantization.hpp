// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

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

}  // namespace plumb::engine::reference
