// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/kernels/shapes.hpp"

namespace plumb::cuda {

/// Chain of steps (kernels/integers.cuh): their text, parameters, and the buffers and strides of
/// their operands.
class StepChain {
 public:
  /// Correction for a factor that was shifted before an integer product. It is subtracted from the
  /// sums of products: the factor's zero point, less 128 for kU8, times the sums of the other
  /// factor.
  struct ShiftedFactor {
    std::size_t sums = 0;                   ///< buffer of s32, one for each channel of the result
    Dimensions strides;                     ///< of them, along the result's axes
    std::optional<std::size_t> zero_point;  ///< operand
    model::DataType type = model::DataType::kS8;  ///< of the factor before it was shifted
  };

  /// Makes an empty chain. Its operands come after `first` others of the kernel.
  StepChain(const BuiltinLayer::Operands& operands, std::size_t first)
      : operands_(operands), next_(first) {}

  /// Adds all steps on an integer product's sums: bias, scales, fused steps, the result's grid.
  /// Throws Unsupported.
  void add_result(const std::optional<ShiftedFactor>& shifted);
  /// Adds the step that rounds onto a grid of integers. `strides` are those of scale and zero
  /// point.
  void add_rounding(std::size_t scale,
                    std::optional<std::size_t> zero_point,
                    const Dimensions& strides);
  void add_scaling(std::size_t scale, const Dimensions& strides);
  void add_combination(const std::string& function, std::size_t operand, const Dimensions& strides);

  /// Returns the name of the type in which an integer product's real steps compute.
  [[nodiscard]] std::string compute() const;
  [[nodiscard]] std::string whole_text() const;  ///< "Steps<...>"
  [[nodiscard]] std::string real_text() const;
  [[nodiscard]] std::size_t operand_count() const { return next_; }  ///< of the kernel
  [[nodiscard]] const kernels::StepShape::Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<std::size_t>& buffers() const { return buffers_; }
  /// Returns the strides of each buffer, along the result's axes.
  [[nodiscard]] const std::vector<Dimensions>& strides() const { return strides_; }

 private:
  std::size_t place(std::size_t buffer, Dimensions strides);
  void add_function(const model::Epilogue& step);
  /// Returns the strides of an operand that has one number, or one for each of the product's
  /// channels.
  [[nodiscard]] Dimensions of_channels(std::size_t operand) const;

  const BuiltinLayer::Operands& operands_;
  std::size_t next_;
  std::size_t functions_ = 0;  // unary ones so far
  kernels::StepShape::Parameters parameters_{};
  std::vector<std::string> whole_;
  std::vector<std::string> real_;
  std::vector<std::size_t> buffers_;
  std::vector<Dimensions> strides_;
};

/// Makes the launch that executes all steps on an integer product's sums. The sums lie in a buffer
/// of s32, in the result's layout.
[[nodiscard]] KernelLaunch launch_behind_sums(
    const model::LayerSpec& spec,
    TensorLayout layout,
    std::size_t sums,
    const std::optional<StepChain::ShiftedFactor>& shifted);

}  // namespace plumb::cuda
