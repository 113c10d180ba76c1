// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runners/cuda/kernels/shapes.hpp"
#include "runners/cuda/own/own_layer.hpp"

namespace plumb::cuda {

/// The correction for a factor that was shifted before an integer product. It is subtracted from
/// the sums of products: the factor's zero point, less 128 for kU8, times the sums of the other
/// factor.
struct ShiftedFactor {
  std::size_t sums = 0;                   ///< buffer of s32, one for each channel of the result
  Dimensions strides;                     ///< of them, along the result's axes
  std::optional<std::size_t> zero_point;  ///< operand
  DataType type = DataType::kS8;          ///< of the factor before it was shifted
};

/// Writes a chain of steps (kernels/steps.cuh): their text, the buffers and strides of their
/// operands, their parameters.
class StepChain {
 public:
  /// The chain's operands come behind `first` others of the kernel.
  StepChain(const OwnOperands& operands, std::size_t first) : operands_(operands), next_(first) {}

  /// Adds all that becomes of an integer product's sums: bias, scales, what is fused, the result's
  /// grid. Throws Unsupported.
  void add_result(const std::optional<ShiftedFactor>& shifted);
  /// Adds the step onto a grid of integers, or away from it: `strides` are those of scale and zero
  /// point.
  void add_rounding(std::size_t scale,
                    std::optional<std::size_t> zero_point,
                    const Dimensions& strides);
  void add_scaling(std::size_t scale, const Dimensions& strides);
  void add_combination(const std::string& function, std::size_t operand, const Dimensions& strides);

  /// Names the type in which an integer product's real steps compute.
  [[nodiscard]] std::string compute() const;
  [[nodiscard]] std::string whole_text() const;  ///< "Steps<...>"
  [[nodiscard]] std::string real_text() const;
  [[nodiscard]] std::size_t operand_count() const { return next_; }  ///< of the kernel
  [[nodiscard]] const kernels::StepParameters& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<std::size_t>& buffers() const { return buffers_; }
  /// Along the result's axes, one for each buffer.
  [[nodiscard]] const std::vector<Dimensions>& strides() const { return strides_; }

 private:
  std::size_t place(std::size_t buffer, Dimensions strides);
  void add_function(const Epilogue& step);
  /// Returns the strides of what has one number, or one for each of the product's channels.
  [[nodiscard]] Dimensions of_channels(std::size_t operand) const;

  const OwnOperands& operands_;
  std::size_t next_;
  std::size_t functions_ = 0;  // with parameters
  kernels::StepParameters parameters_{};
  std::vector<std::string> whole_;
  std::vector<std::string> real_;
  std::vector<std::size_t> buffers_;
  std::vector<Dimensions> strides_;
};

/// Makes the launch that takes an integer product's sums, as they lie in the result's layout in a
/// buffer of s32, through all that follows them.
[[nodiscard]] KernelLaunch launch_behind_sums(const LayerSpec& spec,
                                              TensorLayout layout,
                                              std::size_t sums,
                                              const std::optional<ShiftedFactor>& shifted);

}  // namespace plumb::cuda
