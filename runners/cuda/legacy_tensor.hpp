// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/legacy_problem.hpp"

namespace plumb::cuda {

/// Describes a dense tensor in a layout. One spatial axis becomes two, the first of extent 1; what
/// has no spatial axes gets some. Throws Unsupported for types and extents that cuDNN's older calls
/// do not have.
[[nodiscard]] LegacyTensor legacy_tensor(DataType type,
                                         Dimensions extents,
                                         TensorLayout layout,
                                         std::size_t buffer);

/// The same of a layer's operand, or of its only result. Throws Unsupported also if it is missing
/// or not dense.
[[nodiscard]] LegacyTensor legacy_input(const LayerSpec& spec,
                                        std::size_t index,
                                        TensorLayout layout);
[[nodiscard]] LegacyTensor legacy_result(const LayerSpec& spec, TensorLayout layout);

/// Sliding window in two or three dimensions.
struct LegacyWindow {
  std::vector<int> kernel;
  std::vector<int> pads;
  std::vector<int> strides;
  std::vector<int> dilations;
};

/// Reads a layer's window. Throws Unsupported if pads differ by side.
[[nodiscard]] LegacyWindow legacy_window(const LayerSpec& spec, const Dimensions& kernel);

/// Returns cuDNN's activation of a function of our keys; empty: it has none.
[[nodiscard]] std::optional<LegacyActivation> legacy_activation(
    const std::string& fn, const std::vector<double>& parameters);

}  // namespace plumb::cuda
