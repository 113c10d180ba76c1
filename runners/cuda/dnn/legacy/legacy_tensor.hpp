// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/dnn/legacy/legacy_problem.hpp"

namespace plumb::cuda {

/// Returns a dense tensor in a layout. One spatial axis becomes two, the first of extent 1. A
/// tensor without spatial axes gets some. Throws Unsupported for types and extents that cuDNN's
/// older calls do not have.
[[nodiscard]] LegacyTensor legacy_tensor(model::DataType type,
                                         Dimensions extents,
                                         TensorLayout layout,
                                         std::size_t buffer);

/// Returns a layer's operand, or its first result, as legacy_tensor() does. Also throws Unsupported
/// for an operand that is missing or not dense, and for a result of another type than the first
/// operand.
[[nodiscard]] LegacyTensor legacy_input(const model::LayerSpec& spec,
                                        std::size_t index,
                                        TensorLayout layout);
[[nodiscard]] LegacyTensor legacy_result(const model::LayerSpec& spec, TensorLayout layout);

/// Sliding window in two or three dimensions.
struct LegacyWindow {
  std::vector<int> kernel;
  std::vector<int> pads;
  std::vector<int> strides;
  std::vector<int> dilations;
};

/// Reads a layer's window, which has the extents `kernel`. Throws Unsupported if pads differ by
/// side.
[[nodiscard]] LegacyWindow legacy_window(const model::LayerSpec& spec, const Dimensions& kernel);

/// Returns cuDNN's activation for a function of layer keys. Absent: it has none.
[[nodiscard]] std::optional<LegacyActivation> legacy_activation(
    const std::string& fn, const std::vector<double>& parameters);

}  // namespace plumb::cuda
