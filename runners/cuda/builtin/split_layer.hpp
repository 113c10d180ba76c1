// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/builtin/builtin_step.hpp"

namespace plumb::cuda {

/// Layer split into the part that its library executes and the steps that are left.
struct SplitLayer {
  model::LayerSpec alone;           ///< without bias and fused steps
  std::vector<BuiltinStep> behind;  ///< in place on the result
};

/// Splits a convolution or product with bias or fused steps, or with a bias gradient beside it.
/// Buffers are the layer's operands, then its results. Throws Unsupported if an operand is missing.
[[nodiscard]] SplitLayer split_layer(const model::LayerSpec& spec);

}  // namespace plumb::cuda
